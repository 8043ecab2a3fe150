// x * tanh(log(1 + e^x)).
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_FAST_OP(mish, Mish, false)

}  // namespace ckernel
