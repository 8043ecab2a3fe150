// `chip` numerics of the vector unit: roots, reciprocals, logarithms, sine and cosine.
#include "chip_vector.h"
#include "chip_vector_functions.h"

namespace vd {
namespace chip {
namespace {


// A first guess of 1 / sqrt(x) by halving the exponent, then one or two refinements of the chosen result.
float root(float x, bool inverse, const Variant& v) {
    const uint32_t bits = to_bits(x);
    float y = from_bits((v.approximate ? 0x5F0B3892u : 0x5F1110A0u) - (bits >> 1));
    const bool edge = bits == kInfinityBits || bits == 0;
    const float at_edge = from_bits(kInfinityBits - bits);
    if (v.approximate) {
        const float c = mul(x, y), t = mad(-y, c, 1.89099014875f);
        if (inverse) {
            y = edge ? at_edge : mul(y, t);
        } else {
            y = bits == kInfinityBits ? c : mul(c, t);
        }
    } else {
        const float c = mul(-y, mul(x, y));
        y = mul(y, mad(c, add(2.2533049f, c), 2.2825186f));
        const float xy = mul(x, y), rest = mad(-y, xy, 1.0f);
        if (inverse) {
            y = edge ? at_edge : mad(rest, with_exponent(y, exponent_field(y) - 1), y);
        } else if (static_cast<int32_t>(bits - kInfinityBits) < 0) {  // true for positive finite numbers only
            y = mad(rest, mul(0.5f, xy), xy);
        }
    }
    if (!v.fast && is_negative(x)) y = kNan;
    return y;
}

// The older reciprocal: Newton steps from a fixed guess on the significand, exponent by subtraction.
float legacy_reciprocal(float x, const Variant& v) {
    const float negative = from_bits((to_bits(x) & 0x7FFFFFu) | 0xBF000000u);  // -0.5 .. -1
    float result = mul(1.442695f, add(mul(negative, 1.442695f), 2.0f));
    for (int32_t i = v.approximate ? 1 : 2; i > 0; --i) result = mul(result, add(mul(negative, result), 2.0f));
    const int32_t field = exponent_field(result) - 127 - (exponent_field(x) - 127) + 126;
    const float sized = field < 0 ? 0.0f : with_exponent(result, field);
    return flushed(is_negative(x) ? -sized : sized);
}

}  // namespace

float legacy_root(float x) {
    if (x == 0.0f) return x;
    float guess = from_bits(0x5F370000u - (to_bits(x) >> 1));
    for (int32_t i = 0; i < 2; ++i) guess = mul(add(mul(mul(guess, guess), mul(x, -0.5f)), 1.5f), guess);
    return mul(guess, x);
}

float square_root(float x, const Variant& v) { return rounded(root(x, false, v), v); }

float reciprocal_root(float x, const Variant& v) {
    if (!v.legacy) return rounded(root(x, true, v), v);
    const float result = legacy_reciprocal(through_dst(legacy_root(x), v), v);
    return v.approximate ? result : rounded(result, v);
}

// A guess of 1 / cbrt(x) by a third of the bits as a number; x y^2 with one correction, in a 32-bit DST with two.
float cube_root(float x, const Variant& v) {
    constexpr float kMagic = 1418472267.0f / 256.0f + 8388608.0f, kC0 = 0x1.c09806p0f, kC1 = -0x1.403e6cp0f,
                    kC2 = 0x1.04cdb2p-1f;
    const float size = magnitude(x);
    const float bits = with_sign_of(static_cast<float>(to_bits(size) & ~kSign), size);
    float y = from_bits(to_bits(mad(bits, -0x1.555556p-10f, kMagic)) << 8);
    if (!v.wide) {
        const float d = mul(size, mul(y, y)), c = mul(d, y), t = mad(c, mad(kC2, c, kC1), kC0);
        return rounded(mul(with_sign_of(d, x), mul(t, t)), v);
    }
    const float c = mul(mul(size, y), mul(y, y));
    y = mul(y, mad(c, mad(kC2, c, kC1), kC0));
    const float d = mul(size, mul(y, y)), t = mad(mad(d, y, -1.0f), -0x1.555556p-2f, 1.0f);
    return mul(with_sign_of(d, x), mul(t, t));
}

// Blackhole: the table, then e + e^2 + e^3 of its error; for a 16-bit DST, half a unit more and what the
// error's upper half carries over.
static float table_and_series(float x, const Variant& v) {
    const float y = table_reciprocal(x);
    if (v.approximate) return y;
    if (v.wide) {
        const float e = mad(-x, y, 1.0f), series = mad(mad(e, e, e), e, e);
        return mad(smaller_of(series, 1.0f), y, y);
    }
    const float middle = from_bits(to_bits(y) | 0x8000u);
    return from_bits(to_bits(middle) + (to_bits(mad(x, middle, -1.0f)) >> 16));
}

float reciprocal(float x, const Variant& v) {
    if (!v.legacy) return device.chip.blackhole ? table_and_series(x, v) : rounded(reciprocal_in_steps(x, v.wide ? 2 : 1), v);
    const float result = legacy_reciprocal(x, v);
    return v.approximate ? result : rounded(result, v);
}

// log(m * 2^k) with m in [0.75, 1.5): a polynomial in m - 1 and k * log(2); `r` is the polynomial without its last terms.
static float log_of(float m, float r, int32_t exponent_bits) {
    const float fraction = mad(r, mul(m, m), m);
    return mad(static_cast<float>(exponent_bits), 0.693147182f * 1.19209290e-7f, fraction);
}
static float short_log_terms(float m) { return polynomial(m, {-0.25f, 0x1.744p-2f, -0x1.008p-1f}); }
static float log_terms(float m) {  // all but the last, -1/2
    return polynomial(m, {-0x1.92cp-5f, 0x1.b84p-4f, -0x1.0c4p-3f, 0x1.274p-3f, -0x1.55p-3f, 0x1.998p-3f, -0x1.00001ap-2f,
                          0x1.555572p-2f});
}

// The exponent bits k << 23 for which 2^-k * x lies in [0.75, 1.5).
static uint32_t exponent_bits(float x) { return (to_bits(x) - to_bits(0.75f)) & 0xFF800000u; }

// Not rounded yet.
static float logarithm_times(float x, float scale, const Variant& v) {
    const uint32_t offset = exponent_bits(x);
    const float a = v.fast ? x : mad(x, 1.0f, 0.0f);
    if (is_negative(a)) return kNan;
    const float m = add(from_bits(to_bits(a) - offset), -1.0f);
    const float terms = v.wide ? mad(log_terms(m), m, -0.5f) : short_log_terms(m);
    const float result = mul(log_of(m, terms, static_cast<int32_t>(offset)), scale);
    // Zero, infinity and NaN: multiplying by infinity or NaN keeps the sign that the formula gave.
    const int32_t field = exponent_field(a);
    if (field == 255) return mul(result, a);
    return field == 0 ? mul(result, with_exponent(a, 255)) : result;
}

float logarithm(float x, const Variant& v) { return rounded(logarithm_times(x, 1.0f, v), v); }
float scaled_logarithm(float x, const Variant& v) { return rounded(logarithm_times(x, v.scalar[0], v), v); }
float short_logarithm(float x) { return logarithm_times(x, 1.0f, Variant{}); }

// A cubic for the logarithm, which goes through DST.
float times_logarithm(float a, float b, const Variant& v) {
    if (is_negative(b)) return kNan;
    const float x = with_exponent(b, 127), series = polynomial(x, {0.1058f, -0.7166f, 2.0871f, -1.4753f});
    const float log = mad(static_cast<float>(exponent_field(b) - 127), 0.692871f, series);
    return mul(through_dst(to_bits(flushed(b)) == 0 ? -kInfinity : log, v), a);
}

float log_of_one_plus(float x, const Variant& v) {
    const float u = add(x, 1.0f);
    if (is_negative(u)) return kNan;
    if (order(u) >= order(kInfinity)) return u;
    const uint32_t offset = exponent_bits(u);
    const float scale = from_bits(to_bits(-4.0f) - offset);
    const float m = add(from_bits(to_bits(x) - offset), mad(-0.25f, scale, -1.0f));
    const float terms = v.wide ? add(mul(log_terms(m), m), -0.5f) : short_log_terms(m);
    return log_of(m, terms, static_cast<int32_t>(offset));
}
float logarithm_plus_one(float x, const Variant& v) { return rounded(log_of_one_plus(x, v), v); }

// sin(angle + quarter turns), from the remainder of x / pi and the parity of the quotient.
static float sine_of(float remainder, uint32_t quotient_bits, const Variant& v) {
    const float s = mul(remainder, remainder);
    const float a = from_bits(to_bits(remainder) ^ (quotient_bits << 31));
    const float r = v.wide ? polynomial(s, {0x1.5dc908p-19f, -0x1.9f70fp-13f, 0x1.110edap-7f, -0x1.55554cp-3f})
                           : polynomial(s, {-0x1.8b10a4p-13f, 0x1.10c2a2p-7f, -0x1.5554a4p-3f});
    return rounded(mad(r, mul(a, s), a), v);
}

constexpr float kOneOverPi = 0.31830988618379067154f;

float sine(float x, const Variant& v) {
    const float biased = mad(x, kOneOverPi, kWholeBias), j = add(biased, -kWholeBias);
    float a = add(x, mul(j, -0x1.92p+1f));
    a = mad(j, -0x1.fbp-11f, a);
    a = mad(j, -0x1.51p-21f, a);
    a = mad(j, -0x1.0b4612p-33f, a);
    return sine_of(a, to_bits(biased), v);
}

float cosine(float x, const Variant& v) {
    const float biased = add(mad(x, kOneOverPi, 0.5f), kWholeBias);
    const float j = mad(add(biased, -kWholeBias), 2.0f, -1.0f);
    float a = add(x, mul(j, -0x1.92p+0f));
    a = mad(j, -0x1.fbp-12f, a);
    a = mad(j, -0x1.51p-22f, a);
    a = mad(j, -0x1.0b4612p-34f, a);
    return sine_of(a, to_bits(biased), v);
}

}  // namespace chip
}  // namespace vd
