// `chip` numerics of the vector unit: roots, reciprocals, logarithms, GELU, sine and cosine.
#include <limits>

#include "chip_vector.h"
#include "chip_vector_functions.h"

namespace vd {
namespace chip {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr uint32_t kInfinityBits = 0x7F800000u;

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

float legacy_root(float x) {
    if (x == 0.0f) return x;
    float guess = from_bits(0x5F370000u - (to_bits(x) >> 1));
    for (int32_t i = 0; i < 2; ++i) guess = mul(add(mul(mul(guess, guess), mul(x, -0.5f)), 1.5f), guess);
    return mul(guess, x);
}

}  // namespace

float square_root(float x, const Variant& v) { return rounded(root(x, false, v), v); }

float reciprocal_root(float x, const Variant& v) {
    if (!v.legacy) return rounded(root(x, true, v), v);
    // The root goes through DST: cut when that is narrow, and -0 becomes +0.
    const float root_of = legacy_root(x);
    const float between = (to_bits(root_of) << 1) == 0 ? 0.0f : from_bits(to_bits(root_of) & (v.wide ? ~0u : 0xFFFF0000u));
    const float result = legacy_reciprocal(between, v);
    return v.approximate ? result : rounded(result, v);
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

// log(m * 2^k) with m in [0.75, 1.5): a polynomial in m - 1 and k * log(2).
static float log_of(float m, int32_t exponent_bits, const Variant& v) {
    const float r = v.wide ? polynomial(m, {-0x1.92cp-5f, 0x1.b84p-4f, -0x1.0c4p-3f, 0x1.274p-3f, -0x1.55p-3f, 0x1.998p-3f,
                                            -0x1.00001ap-2f, 0x1.555572p-2f, -0.5f})
                           : polynomial(m, {-0.25f, 0x1.744p-2f, -0x1.008p-1f});
    const float fraction = mad(r, mul(m, m), m);
    return mad(static_cast<float>(exponent_bits), 0.693147182f * 1.19209290e-7f, fraction);
}

// The exponent bits k << 23 for which 2^-k * x lies in [0.75, 1.5).
static uint32_t exponent_bits(float x) { return (to_bits(x) - to_bits(0.75f)) & 0xFF800000u; }

float logarithm(float x, const Variant& v) {
    const uint32_t offset = exponent_bits(x);
    const float a = v.fast ? x : mad(x, 1.0f, 0.0f);
    if (is_negative(a)) return kNan;
    const float result = log_of(add(from_bits(to_bits(a) - offset), -1.0f), static_cast<int32_t>(offset), v);
    // Zero, infinity and NaN: multiplying by infinity or NaN keeps the sign that the formula gave.
    const int32_t field = exponent_field(a);
    if (field == 255) return rounded(mul(result, a), v);
    if (field == 0) return rounded(mul(result, with_exponent(a, 255)), v);
    return rounded(result, v);
}

float logarithm_plus_one(float x, const Variant& v) {
    const float u = add(x, 1.0f);
    if (is_negative(u)) return kNan;
    if (order(u) >= order(kInfinity)) return u;
    const uint32_t offset = exponent_bits(u);
    const float scale = from_bits(to_bits(-4.0f) - offset);
    const float m = add(from_bits(to_bits(x) - offset), mad(-0.25f, scale, -1.0f));
    return rounded(log_of(m, static_cast<int32_t>(offset), v), v);
}

float gelu(float x, const Variant& v) {
    if (!v.fast) {  // the accurate form; 0 where the error function is -1
        if (order(x) <= order(-5.54259443f)) return 0.0f;
        const float erf = static_cast<float>(std::erf(smaller_of(mul(x, 0.70710678118654752f), 10.0f)));
        return rounded(erf == -1.0f ? mul(x, 0x1p-25f) : mul(x, mad(0.5f, erf, 0.5f)), v);
    }
    // x / 2 plus a function of |x| in six lines; coefficients are Float16 numbers.
    const float size = magnitude(x);
    struct Line {
        float below, slope, offset;
    };
    static const Line kLines[] = {{0.5f, 0x1.8acp-3f, -0x1.b6p-14f},    {1.0f, 0x1.f9cp-2f, -0x1.488p-3f},
                                  {1.5f, 0x1.3ccp-1f, -0x1.1e4p-2f},    {2.0f, 0x1.384p-1f, -0x1.0dcp-2f},
                                  {3.0f, 0x1.148p-1f, -0x1.e9p-4f},     {kInfinity, 0.5f, 0.0f}};
    const Line* line = kLines;
    while (line->below < kInfinity && !(size < line->below)) ++line;
    return add(mul(x, 0.5f), mad(line->slope, size, line->offset));
}

// A quotient of polynomials, saturated.
float error_function(float x, const Variant& v) {
    const float limited = with_sign_of(smaller_of(magnitude(x), 10.0f), x), square = mul(limited, limited);
    const float above = mul(limited, polynomial(square, {7.4481184425e-04f, 4.5400281738e-02f, 2.7609212279e-01f,
                                                         1.1280932447e+00f}));
    const float below = polynomial(square, {2.4813862145e-05f, 8.2844606784e-03f, 1.3675764810e-01f, 5.7439188334e-01f,
                                            1.0f});
    const float ratio = mul(above, reciprocal_in_steps(below, v.fast ? 0 : 2));
    return larger_of(smaller_of(ratio, 1.0f), -1.0f);
}

// sin(angle + quarter turns), from the remainder of x / pi and the parity of the quotient.
static float sine_of(float remainder, uint32_t quotient_bits, const Variant& v) {
    const float s = mul(remainder, remainder);
    const float a = from_bits(to_bits(remainder) ^ (quotient_bits << 31));
    const float r = v.wide ? polynomial(s, {0x1.5dc908p-19f, -0x1.9f70fp-13f, 0x1.110edap-7f, -0x1.55554cp-3f})
                           : polynomial(s, {-0x1.8b10a4p-13f, 0x1.10c2a2p-7f, -0x1.5554a4p-3f});
    return rounded(mad(r, mul(a, s), a), v);
}

constexpr float kOneOverPi = 0.31830988618379067154f, kWholeBias = 12582912.0f;  // 1.5 * 2^23

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
