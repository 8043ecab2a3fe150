// 1 / square root.
#pragma once

#include "vd/sfpu.h"

template <bool legacy_compat = false>
VD_SFPU_INIT(rsqrt_tile_init, Rsqrt)
template <bool legacy_compat = false, bool FAST_APPROX = false>
VD_SFPU_UNARY(rsqrt_tile, Rsqrt)
