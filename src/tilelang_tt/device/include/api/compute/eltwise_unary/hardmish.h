// x * clamp(x / 2 + 1, 0, 1).
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP(hardmish, Hardmish)

}  // namespace ckernel
