// Angle of (x1, x0).
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_BINARY_OP(atan2_binary, Atan2)

}  // namespace ckernel
