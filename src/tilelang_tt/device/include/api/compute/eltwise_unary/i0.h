// Modified Bessel function of order 0.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP(i0, I0)

}  // namespace ckernel
