// Square root.
#pragma once

#include "vd/sfpu.h"

VD_SFPU_INIT(sqrt_tile_init, Sqrt)
template <bool FAST_APPROX = false>
VD_SFPU_UNARY(sqrt_tile, Sqrt)
