// 1 - tanh(x)^2.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_FAST_OP(tanh_derivative, TanhDerivative, false)

}  // namespace ckernel
