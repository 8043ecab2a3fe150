// Whole quotient of two integer DST tiles.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_BINARY_OP(div_int32_floor, DivFloorInt)
VD_BINARY_OP(div_int32_trunc, DivTruncInt)

}  // namespace ckernel
