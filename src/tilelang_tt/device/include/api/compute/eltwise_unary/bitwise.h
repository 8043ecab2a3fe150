// Bits of integers with a scalar.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(bitwise_and_tile_init, BitwiseAnd)
VD_INT_UNARY1(bitwise_and_tile, BitwiseAnd)
VD_INIT(bitwise_or_tile_init, BitwiseOr)
VD_INT_UNARY1(bitwise_or_tile, BitwiseOr)
VD_INIT(bitwise_xor_tile_init, BitwiseXor)
VD_INT_UNARY1(bitwise_xor_tile, BitwiseXor)

}  // namespace ckernel
