// Integer product of two DST tiles.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(mul_int_tile_init, MulInt)
VD_INT_BINARY(mul_int_tile, MulInt)

}  // namespace ckernel
