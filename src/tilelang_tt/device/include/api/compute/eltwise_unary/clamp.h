// Clamp between two scalars.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP2(clamp, Clamp)
VD_UNARY2(clamp_tile_int32, ClampInt)

}  // namespace ckernel
