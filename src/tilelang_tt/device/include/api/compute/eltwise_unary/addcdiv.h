// a + value * b / c.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(addcdiv_tile_init, Addcdiv)
VD_TERNARY1(addcdiv_tile, Addcdiv)

}  // namespace ckernel
