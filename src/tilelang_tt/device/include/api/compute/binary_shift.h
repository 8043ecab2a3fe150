// Shifts of one integer DST tile by another.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(binary_shift_tile_init, BinaryShift)
VD_INT_BINARY(binary_left_shift_tile, ShiftLeft)
VD_INT_BINARY(binary_right_shift_tile, ShiftRight)
VD_INT_BINARY(binary_logical_right_shift_tile, ShiftRightLogical)

}  // namespace ckernel
