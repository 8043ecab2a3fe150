// Error function and its complement.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_FAST_OP(erf, Erf, true)
VD_OP(erfc, Erfc)

}  // namespace ckernel
