// `chip` numerics: functions of the vector unit as the SDK evaluates them, so that results agree in their last bits.
//
// All arithmetic is the multiply-add of chip_mad.h. Where a factor or summand is a literal of at most 8 significant bits,
// the SDK's compiler prefers its immediate form to one multiply-add, so the product is rounded first: add(mul(a, b), c).
// Minima and maxima order numbers by sign and magnitude of their bits, so a NaN lies beyond the infinity of its sign. A
// comparison with zero looks at the bits: -0 is negative and not zero. A function returns what is stored: when DST is
// 16 bits wide, those that round before the store have done so.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "chip_mad.h"

namespace vd {
namespace chip {

// How a function was asked for: `fast` and `legacy` are template flags of the call, `approximate` is math_approx_mode.
struct Variant {
    bool fast, legacy, approximate;
    bool wide;  // 32-bit DST
    float scalar[3];
};

using VectorFunction = float (*)(float a, float b, float c, const Variant& variant);

// What this operation does to an element of each of its tiles, or nullptr when no rule is known.
VectorFunction vector_function(Sfpu op);
Variant variant_of(const SfpuCall& call);

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLog2OfE = 1.442695f;
constexpr float kWholeBias = 12582912.0f;  // 1.5 * 2^23: adding it leaves the whole part in the lowest bits

inline int32_t exponent_field(float value) { return static_cast<int32_t>((to_bits(value) >> 23) & 255u); }
inline float flushed(float value) {
    return (to_bits(value) & 0x7F800000u) == 0 ? from_bits(to_bits(value) & 0x80000000u) : value;
}

inline bool is_negative(float value) { return (to_bits(value) >> 31) != 0; }
inline bool is_nan(float value) { return (to_bits(value) & 0x7FFFFFFFu) > 0x7F800000u; }
inline int32_t order(float value) {
    const int32_t size = static_cast<int32_t>(to_bits(value) & 0x7FFFFFFFu);
    return is_negative(value) ? -size : size;
}
// A comparison with a number other than zero looks at the sign of the difference: Wormhole keeps the sign of a NaN there,
// Blackhole makes it positive.
inline int32_t rank(float value) { return device.chip.blackhole && is_nan(value) ? 0x7FFFFFFF : order(value); }
inline bool is_at_least(float a, float b) { return rank(a) >= order(b); }
inline bool is_above(float x, float limit) {
    const float rest = mad(limit, -1.0f, x);
    return !is_negative(rest) && to_bits(rest) != 0;
}
// Here -0 lies below +0.
inline bool is_below(float a, float b) {
    return order(a) != order(b) ? order(a) < order(b) : is_negative(a) && !is_negative(b);
}
inline float larger_of(float a, float b) { return is_below(a, b) ? b : a; }
inline float smaller_of(float a, float b) { return is_below(b, a) ? b : a; }

inline float mul(float a, float b) { return mad(a, b, 0.0f); }
inline float add(float a, float b) { return mad(a, 1.0f, b); }
inline float sub(float a, float b) { return mad(b, -1.0f, a); }
// a - b * c: Wormhole cannot negate a product and rounds it first.
inline float minus_product(float a, float b, float c) {
    return device.chip.blackhole ? mad(-b, c, a) : sub(a, mul(b, c));
}

// Horner's scheme, highest coefficient first.
inline float polynomial(float x, std::initializer_list<float> coefficients) {
    const float* c = coefficients.begin();
    float sum = *c++;
    for (; c != coefficients.end(); ++c) sum = mad(sum, x, *c);
    return sum;
}

// To bf16 by the unit's rounding instruction, when DST is 16 bits wide: ties away from zero, no denormals, no NaN.
inline float rounded(float value, const Variant& variant) {
    const uint32_t bits = to_bits(value);
    if (variant.wide) return value;
    if (exponent_field(value) == 255) return from_bits(bits & 0xFF800000u);
    return exponent_field(value) == 0 ? 0.0f : from_bits((bits + 0x8000u) & 0xFFFF0000u);
}
// The same with integer operations, as some functions do it: to nearest even.
inline float rounded_to_even(float value, const Variant& variant) {
    const uint32_t bits = to_bits(value);
    return variant.wide ? value : from_bits((bits + 0x7FFFu + ((bits >> 16) & 1u)) & 0xFFFF0000u);
}

// What a function that keeps a number in DST reads back: cut when that is narrow, and -0 becomes +0.
inline float through_dst(float value, const Variant& variant) {
    return (to_bits(value) << 1) == 0 ? 0.0f : from_bits(to_bits(value) & (variant.wide ? ~0u : 0xFFFF0000u));
}

inline float with_exponent(float value, int32_t field) {
    return from_bits((to_bits(value) & 0x807FFFFFu) | ((static_cast<uint32_t>(field) & 255u) << 23));
}
inline float with_sign_of(float value, float sign) {
    return from_bits((to_bits(value) & 0x7FFFFFFFu) | (to_bits(sign) & 0x80000000u));
}
// A negative NaN stays as it is.
inline float magnitude(float value) { return is_nan(value) ? value : from_bits(to_bits(value) & 0x7FFFFFFFu); }

}  // namespace chip
}  // namespace vd
