// x0 * log(x1).
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_BINARY_OP(xlogy_binary, Xlogy)

}  // namespace ckernel
