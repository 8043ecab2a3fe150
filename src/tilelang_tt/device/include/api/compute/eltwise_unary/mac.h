// a * b + c.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(mac_tile_init, Mac)
VD_TERNARY(mac_tile, Mac)

}  // namespace ckernel
