// `chip` numerics of the vector unit: base^exponent as 2^(exponent * log2(base)).
#include "chip_vector.h"
#include "chip_vector_functions.h"

namespace vd {
namespace chip {
namespace {

constexpr float kLowest = -127.0f;

// A positive number cut to an integer; 31 bits at most.
uint32_t cut(float value) {
    const int32_t exponent = exponent_field(value) - 127;
    if (exponent < 0) return 0;
    if (exponent > 30) return 0x7FFFFFFFu;
    const uint32_t significand = (to_bits(value) & kFractionBits) | 0x800000u;
    return exponent >= 23 ? significand << (exponent - 23) : significand >> (23 - exponent);
}

// For a 16-bit DST: a cubic for the logarithm, a parabola for the power of two.
float short_power(float base, float exponent) {
    const float x = from_bits((to_bits(base) & kFractionBits) | to_bits(1.0f));
    const float series = polynomial(x, {0x2.44734p-4f, -0xd.e712ap-4f, 0x2.4f5388p+0f, -0x1.952992p+0f});
    const float whole_part = static_cast<float>(exponent_field(base) - 127);
    float z = mul(exponent, mad(series, kLog2OfE, whole_part));
    if (!is_at_least(z, kLowest)) z = kLowest;
    // Times 2^23, as an addition to the exponent field that wraps around.
    if (exponent_field(z) != 255) z = with_exponent(z, exponent_field(z) + 23);
    const uint32_t fixed = cut(add(z, 1065353216.0f));  // 127 * 2^23
    const uint32_t fraction = fixed & kFractionBits;
    const float first = mul(0.40196114e-7f, static_cast<float>(0xF94EE7u + fraction));
    const uint32_t mantissa = cut(mul(first, static_cast<float>(0x560Eu + fraction)));
    return with_exponent(from_bits(mantissa), static_cast<int32_t>(fixed >> 23));
}

// exponent * log2(base) as a sum and what it lost: log2 as exponent and log2 of a significand around 1. The reciprocal of
// the significand plus one starts from a line.
struct Product {
    float sum, rest;
};
Product times_log2(float base, float exponent, float line_offset, float line_slope) {
    const float size = magnitude(base);
    float m = with_exponent(size, 127);
    int32_t whole_part = exponent_field(size) - 127;
    if (is_at_least(m, 1.4142135381698608f)) m = mul(m, 0.5f), ++whole_part;
    const float m_plus_one = add(m, 1.0f);
    float inverse = minus_product(line_offset, line_slope, m_plus_one);
    for (int32_t i = 0; i < 3; ++i) inverse = mul(inverse, sub(2.0f, mul(m_plus_one, inverse)));
    const float z = mad(m, inverse, -inverse), square = mul(z, z);
    const float series = polynomial(square, {0.09090909090909091f, 0.1111111111111111f, 0.14285714285714285f, 0.2f,
                                             0.3333333333333333f, 1.0f});
    const float log_m = mul(mul(mul(z, series), 2.0f), kLog2OfE);

    const float whole_log = static_cast<float>(whole_part);
    const float split = mul(exponent, 4097.0f);
    const float upper = sub(split, sub(split, exponent)), lower = sub(exponent, upper);
    const float high = mul(upper, whole_log), low = mad(lower, whole_log, mul(exponent, log_m));
    const float sum = add(high, low);
    return {sum, sub(low, sub(sum, high))};
}

float accurate_power(float base, float exponent) {
    auto [sum, rest] = times_log2(base, exponent, 1.0f, 0.2426406871192851f);
    if (!is_at_least(sum, kLowest)) sum = kLowest, rest = 0.0f;
    const float biased = add(sum, kWholeBias), nearest = sub(biased, kWholeBias);
    const int32_t steps = static_cast<int32_t>(to_bits(biased) - to_bits(kWholeBias));
    const float y = accurate_exponential(mul(add(sub(sum, nearest), rest), 0.693147180559945309f));
    const int32_t field = static_cast<int32_t>(static_cast<uint32_t>(exponent_field(y)) + static_cast<uint32_t>(steps));
    return field >= 255 ? kInfinity : with_exponent(y, field);
}

// With one exponent for all elements.
float accurate_power_of_tile(float base, float exponent) {
    const auto [sum, rest] = times_log2(base, exponent, 1.003f, 0.244f);
    const float z = larger_of(sum, -0x7e.ffff8p0f), biased = add(z, kWholeBias);
    if (!is_negative(sub(z, 128.0f))) return kInfinity;
    const float f = add(sub(z, sub(biased, kWholeBias)), rest);
    const float r = mad(f, 0.693359375f, mul(f, -2.12194440e-4f));
    const float terms = polynomial(r, {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6});
    const float p = mad(r, mad(r, add(mul(r, terms), 0.5f), 1.0f), 1.0f);
    return with_exponent(p, exponent_field(p) + static_cast<int32_t>(to_bits(biased) - to_bits(kWholeBias)));
}

float with_edges(float y, bool zero, float base, float exponent, const Variant& v) {
    if (zero && is_negative(exponent)) y = kNan;
    if (is_negative(base)) {  // whole exponents only
        const float nearest = whole(exponent);
        y = with_sign_of(y, from_bits(static_cast<uint32_t>(std::fabs(nearest)) << 31));
        if (to_bits(sub(nearest, exponent)) != 0) y = kNan;
    }
    return rounded(flushed(y), v);
}

}  // namespace

float power(float base, float exponent, const Variant& v) {
    const float y = v.wide ? accurate_power(base, exponent) : short_power(base, exponent);
    const bool zero = v.wide ? to_bits(base) == 0 : (to_bits(base) << 1) == 0;
    return with_edges(y, zero, base, exponent, v);
}

float power_of_tile(float base, const Variant& v) {
    const float exponent = v.scalar[0];
    const float y = v.wide ? accurate_power_of_tile(base, exponent) : short_power(base, exponent);
    return with_edges(y, (to_bits(base) << 1) == 0, base, exponent, v);
}

}  // namespace chip
}  // namespace vd
