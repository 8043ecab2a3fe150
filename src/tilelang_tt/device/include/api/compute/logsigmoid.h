// log(sigmoid(x)); the second operand is e^-x.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_BINARY_OP(logsigmoid, Logsigmoid)

}  // namespace ckernel
