// Greatest common divisor of two integer DST tiles.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_BINARY_OP(gcd, Gcd)

}  // namespace ckernel
