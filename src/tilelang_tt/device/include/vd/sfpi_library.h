// Functions of the SDK's own SFPI code that kernels call by name, on the eight vectors of a face.
#pragma once

#include "sfpi.h"
#include "vd/compute.h"

namespace ckernel {

enum { ADD_UNARY = 0, SUB_UNARY = 1, MUL_UNARY = 2, DIV_UNARY = 3, RSUB_UNARY = 4 };

namespace sfpu {

template <bool approximation_mode, int operation, int iterations = 8>
void calculate_binop_with_scalar(uint32_t bits) {
    const sfpi::vFloat scalar = sfpi::detail::cast_bits<float>(bits);
    for (int i = 0; i < iterations; ++i) {
        const sfpi::vFloat x = sfpi::dst_reg[0];
        sfpi::dst_reg[0] = operation == ADD_UNARY   ? x + scalar
                           : operation == SUB_UNARY ? x - scalar
                           : operation == RSUB_UNARY ? scalar - x
                                                    : sfpi::vFloat(x * scalar);  // a division passes the reciprocal
        sfpi::dst_reg++;
    }
}

}  // namespace sfpu
}  // namespace ckernel
