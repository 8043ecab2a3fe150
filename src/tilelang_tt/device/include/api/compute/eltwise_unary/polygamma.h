// Derivatives of digamma: of order n, with n! and its sign as a second number.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP2(polygamma, Polygamma)

}  // namespace ckernel
