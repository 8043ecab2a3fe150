// Integer sum of two DST tiles.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(add_int_tile_init, AddInt)
VD_INT_BINARY(add_int_tile, AddInt)

}  // namespace ckernel
