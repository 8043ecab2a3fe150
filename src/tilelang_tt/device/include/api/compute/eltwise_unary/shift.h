// Shifts of integers by a scalar.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(left_shift_tile_init, LeftShift)
VD_INIT(right_shift_tile_init, RightShift)
VD_INT_UNARY1(left_shift_tile, LeftShift)
VD_INT_UNARY1(right_shift_tile, RightShift)

}  // namespace ckernel
