// Vector-unit operations on two DST tiles.
#pragma once

#include "vd/sfpu.h"

VD_SFPU_INIT(add_binary_tile_init, BinaryAdd)
VD_SFPU_INIT(sub_binary_tile_init, BinarySub)
VD_SFPU_INIT(mul_binary_tile_init, BinaryMul)
VD_SFPU_INIT(div_binary_tile_init, BinaryDiv)
VD_SFPU_INIT(rsub_binary_tile_init, BinaryRsub)
VD_SFPU_INIT(power_binary_tile_init, BinaryPower)
VD_SFPU_BINARY(add_binary_tile, BinaryAdd)
VD_SFPU_BINARY(sub_binary_tile, BinarySub)
VD_SFPU_BINARY(mul_binary_tile, BinaryMul)
VD_SFPU_BINARY(div_binary_tile, BinaryDiv)
VD_SFPU_BINARY(rsub_binary_tile, BinaryRsub)
VD_SFPU_BINARY(power_binary_tile, BinaryPower)
