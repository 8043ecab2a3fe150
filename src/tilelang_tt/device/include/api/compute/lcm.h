// Least common multiple of two integer DST tiles.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_BINARY_OP(lcm, Lcm)

}  // namespace ckernel
