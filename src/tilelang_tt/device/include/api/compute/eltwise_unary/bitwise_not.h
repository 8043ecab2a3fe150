// All bits inverted.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP(bitwise_not, BitwiseNot)

}  // namespace ckernel
