// Gaussian error linear unit (erf form), and its tanh form.
#pragma once

#include "vd/sfpu.h"

template <bool fast_and_approx = true>
VD_SFPU_INIT(gelu_tile_init, Gelu)
template <bool fast_and_approx = true>
VD_SFPU_UNARY(gelu_tile, Gelu)
VD_SFPU_INIT(gelu_tanh_tile_init, GeluTanh) VD_SFPU_UNARY(gelu_tanh_tile, GeluTanh)
