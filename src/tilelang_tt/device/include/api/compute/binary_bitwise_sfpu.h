// Bits of two integer DST tiles.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(binary_bitwise_tile_init, BinaryBitwise)
VD_INT_BINARY(bitwise_and_binary_tile, AndInt)
VD_INT_BINARY(bitwise_or_binary_tile, OrInt)
VD_INT_BINARY(bitwise_xor_binary_tile, XorInt)

}  // namespace ckernel
