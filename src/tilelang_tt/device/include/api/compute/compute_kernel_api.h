// Vector-unit operations that live in the SDK's general header.
#pragma once

#include "vd/sfpu.h"

template <bool fast_and_approx = false>
VD_SFPU_INIT(sigmoid_tile_init, Sigmoid)
template <VectorMode vec_mode = VectorMode::RC, bool fast_and_approx = false>
VD_SFPU_UNARY(sigmoid_tile, Sigmoid)

VD_SFPU_INIT(silu_tile_init, Silu) VD_SFPU_UNARY(silu_tile, Silu)

    template <bool fast_and_approx = false>
    VD_SFPU_INIT(tanh_tile_init, Tanh)
    template <bool fast_and_approx = false>
    VD_SFPU_UNARY(tanh_tile, Tanh)

    VD_SFPU_INIT(square_tile_init, Square) VD_SFPU_UNARY(square_tile, Square)

        template <bool fast_and_approx = false>
        VD_SFPU_INIT(log_tile_init, Log)
        template <bool fast_and_approx = false>
        VD_SFPU_UNARY(log_tile, Log)

        VD_SFPU_INIT(abs_tile_init, Abs) VD_SFPU_UNARY(abs_tile, Abs)

            VD_SFPU_INIT(exp2_tile_init, Exp2) VD_SFPU_UNARY(exp2_tile, Exp2)

                VD_SFPU_INIT(unary_max_tile_init, UnaryMax) VD_SFPU_SCALAR(unary_max_tile, UnaryMax)
                    VD_SFPU_INIT(unary_min_tile_init, UnaryMin) VD_SFPU_SCALAR(unary_min_tile, UnaryMin)
