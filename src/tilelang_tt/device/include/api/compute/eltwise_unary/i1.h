// Modified Bessel function of order 1.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP(i1, I1)

}  // namespace ckernel
