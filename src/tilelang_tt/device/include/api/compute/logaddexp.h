// log(exp(a) + exp(b)).
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_BINARY_OP(logaddexp_binary, Logaddexp)

}  // namespace ckernel
