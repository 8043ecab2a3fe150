// Quotient of two integer DST tiles, as fp32.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_BINARY_OP(div_int32, DivInt)

}  // namespace ckernel
