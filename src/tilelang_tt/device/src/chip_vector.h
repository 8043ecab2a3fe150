// `chip` numerics: functions of the vector unit as the SDK evaluates them, so that results agree in their last bits.
//
// The unit computes in fp32 with a fused multiply-add, to nearest even; denormals are zero on the way in and out.
// Comparisons order numbers by sign and magnitude of their bits, so a NaN lies beyond the infinity of its sign. A function
// returns what is stored: when DST is 16 bits wide, those that round in software have done so.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "machine.h"

namespace vd {
namespace chip {

// How a function was asked for: `fast` and `legacy` are template flags of the call, `approximate` is math_approx_mode.
struct Variant {
    bool fast, legacy, approximate;
    bool wide;  // 32-bit DST
    float scalar;
};

using VectorFunction = float (*)(float a, float b, const Variant& variant);

// What this operation does to an element of its first tile (and its second), or nullptr when no rule is known.
VectorFunction vector_function(Sfpu op);
Variant variant_of(const SfpuCall& call);

inline uint32_t to_bits(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline float from_bits(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

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
// Here -0 lies below +0.
inline bool is_below(float a, float b) {
    return order(a) != order(b) ? order(a) < order(b) : is_negative(a) && !is_negative(b);
}
inline float larger_of(float a, float b) { return is_below(a, b) ? b : a; }
inline float smaller_of(float a, float b) { return is_below(b, a) ? b : a; }

// The NaN that a * b + c gives. Blackhole knows one; on Wormhole it has the sign of the product, unless c alone is a NaN.
inline float nan_of(float a, float b, float c) {
    if (device.chip.blackhole) return from_bits(0x7FC00000u);
    const bool from_c = is_nan(c) && !std::isnan(a * b);
    const bool negative = from_c ? is_negative(c) : is_negative(a) != is_negative(b);
    return from_bits(negative ? 0xFF800001u : 0x7F800001u);
}
// Below the normal numbers everything is zero. One binade further a number still counts: as the summand of a larger one,
// and for its sign on Blackhole.
constexpr float kLeast = 0x1p-127f;
inline float underflown(float sum, float product, float c) {
    if (std::fabs(sum) >= kLeast) return device.chip.blackhole ? from_bits(to_bits(sum) & 0x80000000u) : 0.0f;
    return is_negative(c) && c == 0.0f && is_negative(product) ? -0.0f : 0.0f;
}
inline float mad(float a, float b, float c) {
    const float x = flushed(a), y = flushed(b), z = flushed(c);
    if (std::fabs(x * y) < kLeast && z != 0.0f && !is_nan(z)) return z;
    const float sum = std::fma(x, y, z);
    if (std::isnan(sum)) return nan_of(x, y, z);
    return exponent_field(sum) == 0 ? underflown(sum, x * y, z) : sum;
}
inline float mul(float a, float b) { return mad(a, b, 0.0f); }
inline float add(float a, float b) { return mad(a, 1.0f, b); }

// Horner's scheme, highest coefficient first.
inline float polynomial(float x, std::initializer_list<float> coefficients) {
    const float* c = coefficients.begin();
    float sum = *c++;
    for (; c != coefficients.end(); ++c) sum = mad(sum, x, *c);
    return sum;
}

// Rounded to bf16, to nearest even, when DST is 16 bits wide.
inline float rounded(float value, const Variant& variant) {
    const uint32_t bits = to_bits(value);
    if (variant.wide || (bits & 0x7F800000u) == 0x7F800000u) return value;
    return from_bits((bits + 0x7FFFu + ((bits >> 16) & 1u)) & 0xFFFF0000u);
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
