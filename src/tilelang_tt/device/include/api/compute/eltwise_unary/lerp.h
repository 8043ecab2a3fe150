// a + c * (b - a).
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(lerp_tile_init, Lerp)
VD_TERNARY(lerp_tile, Lerp)

}  // namespace ckernel
