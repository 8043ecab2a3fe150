// What attention does to columns of numbers: only the first column of a tile counts there, so of faces 0 and 2 the vectors
// with even columns are computed and the others left as they are.
#pragma once

#include "ckernel_sfpu_recip.h"
#include "sfpi.h"
#include "vd/compute.h"
#include "vd/sfpi_library.h"

namespace ckernel::sfpu {

namespace sdpa {

constexpr int kVectorsOfColumn = 4;  // of a face: every second of its eight
using sfpi::vFloat;

inline vFloat exponential(const vFloat& x, uint32_t scale_bf16) {
    return sfpi::detail::function(vd::Sfpu::Exp, x, {scale_bf16 << 16, 1, 0}, false);
}
inline vFloat reciprocal(const vFloat& x, bool legacy) {
    return sfpi::detail::function(vd::Sfpu::Recip, x, {0, 0, 0}, legacy);
}

template <typename Function>
void on_column(Function function) {
    for (int i = 0; i < kVectorsOfColumn; ++i) {
        function();
        sfpi::dst_reg += 2;
    }
}

// Nearest whole number of at most seven bits and a sign, ties away from zero, as the conversion to INT8 leaves it.
// Infinities and NaNs are the largest number of their sign.
inline vFloat nearest_byte(const vFloat& x) {
    return sfpi::lanewise<vFloat>([&](uint32_t i) {
        const float size = __builtin_fabsf(x.at[i]);
        return __builtin_copysignf(size < 126.5f ? __builtin_roundf(size) : 127.0f, x.at[i]);
    });
}
// y times 2 to the power of a whole number from -127 on. At -127 the result is 0 whatever y is: below that the polynomial
// means nothing, and of the exponential of -infinity it is infinite.
inline vFloat scaled_by_power(const vFloat& y, const vFloat& whole) {
    const vFloat power = sfpi::lanewise<vFloat>([&](uint32_t i) {
        return sfpi::detail::cast_bits<float>(static_cast<uint32_t>(static_cast<int32_t>(whole.at[i]) + 127) << 23);
    });
    const vFloat product = sfpi::mad(y, power, 0.0f);
    return sfpi::lanewise<vFloat>([&](uint32_t i) { return whole.at[i] == -127.0f ? 0.0f : product.at[i]; });
}
// To bfloat16 by the rounding instruction: ties away from zero, no denormals, no NaN.
inline vFloat rounded_to_bfloat16(const vFloat& x) {
    return sfpi::detail::on_bits<vFloat>(x, [](uint32_t bits, uint32_t) {
        const uint32_t exponent = bits & sfpi::detail::kExponentBits;
        if (exponent == sfpi::detail::kExponentBits) return bits & ~sfpi::detail::kMantissaBits;
        return exponent == 0 ? 0u : (bits + 0x8000u) & 0xFFFF0000u;
    });
}

// e^x by a polynomial of the rest after multiples of ln 2: degree 4 for a 32-bit DST, 2 for a 16-bit one.
template <bool wide>
vFloat polynomial_exponential(const vFloat& x) {
    constexpr float kLn2 = 0.69314718055994530942f, kOneOverLn2 = 1.44269504088896340736f;
    const vFloat whole = nearest_byte(sfpi::mad(x, kOneOverLn2, 0.0f));
    const vFloat rest = sfpi::mad(whole, -kLn2, x);
    vFloat y;
    if constexpr (wide) {
        y = sfpi::mad(rest, 4.1959439860014343843e-2f, 0.16792157982882225103f);
        y = sfpi::mad(rest, y, 0.49998365704615426417f);
        y = sfpi::mad(rest, y, 0.99996228117047652035f);
        y = sfpi::mad(rest, y, 1.0000001510806179002f);
    } else {
        y = sfpi::mad(rest, 0.50628367056745568862f, 1.0150876009852105668f);
        y = sfpi::mad(rest, y, 0.99984879292439531333f);
    }
    const vFloat result = scaled_by_power(y, whole);
    return wide ? result : rounded_to_bfloat16(result);
}

}  // namespace sdpa

template <bool legacy_compat = true>
void calculate_recip_first_column() {
    sdpa::on_column([] { sfpi::dst_reg[0] = sdpa::reciprocal(sfpi::dst_reg[0], legacy_compat); });
}

template <bool SDPA_EXP_APPROX_MODE, uint16_t scale_bf16>
void calculate_exponential_first_column() {
    sdpa::on_column([] {
        const sfpi::vFloat x = sfpi::dst_reg[0];
        if constexpr (SDPA_EXP_APPROX_MODE) {
            sfpi::dst_reg[0] = sdpa::exponential(x, scale_bf16);
        } else {
            const sfpi::vFloat scale = sfpi::detail::cast_bits<float>(uint32_t{scale_bf16} << 16);
            sfpi::dst_reg[0] = sdpa::polynomial_exponential<DST_ACCUM_MODE>(sfpi::mad(x, scale, 0.0f));
        }
    });
}

// Tiles 0 and 1 hold the maxima of two parts, 3 and 4 their sums. Afterwards: 0 and 1 what the parts are scaled by,
// 2 the common maximum, 3 the common sum.
inline void calculate_fused_max_sub_exp_add_tile(int scale_bf16) {
    constexpr int kTile = vd::kVectorsOfTile;
    sdpa::on_column([&] {
        const sfpi::vFloat first = sfpi::dst_reg[0], second = sfpi::dst_reg[kTile];
        const sfpi::vFloat first_sum = sfpi::dst_reg[3 * kTile], second_sum = sfpi::dst_reg[4 * kTile];
        sfpi::dst_reg[2 * kTile] = sfpi::max(first, second);
        const sfpi::vFloat most = sfpi::dst_reg[2 * kTile];
        const sfpi::vFloat of_first = sdpa::exponential(first - most, static_cast<uint32_t>(scale_bf16));
        const sfpi::vFloat of_second = sdpa::exponential(second - most, static_cast<uint32_t>(scale_bf16));
        sfpi::dst_reg[0] = of_first;
        sfpi::dst_reg[kTile] = of_second;
        sfpi::dst_reg[4 * kTile] = sfpi::vFloat(of_second * second_sum);
        sfpi::dst_reg[3 * kTile] = sfpi::vFloat(of_first * first_sum);
        const sfpi::vFloat a = sfpi::dst_reg[4 * kTile], b = sfpi::dst_reg[3 * kTile];
        sfpi::dst_reg[3 * kTile] = a + b;
    });
}

inline void calculate_softplus_first_column(uint32_t beta, uint32_t beta_reciprocal, uint32_t threshold) {
    sdpa::on_column([&] {
        const sfpi::vFloat x = sfpi::dst_reg[0];
        sfpi::dst_reg[0] = sfpi::detail::function(vd::Sfpu::Softplus, x, {beta, beta_reciprocal, threshold}, false);
    });
}

}  // namespace ckernel::sfpu
