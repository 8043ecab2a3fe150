// The logarithmic derivative of the gamma function, of positive numbers.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP(digamma, Digamma)

}  // namespace ckernel
