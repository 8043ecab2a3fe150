// Classes of numbers, as 1.0 or 0.0.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP(isinf, Isinf)
VD_OP(isposinf, Isposinf)
VD_OP(isneginf, Isneginf)
VD_OP(isnan, Isnan)
VD_OP(isfinite, Isfinite)

}  // namespace ckernel
