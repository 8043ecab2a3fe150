// `chip` numerics of the vector unit: exponentials and what is made of them.
#include "chip_vector.h"
#include "chip_vector_functions.h"

namespace vd {
namespace chip {
namespace {


// r * 2^steps; beyond the range of exponents 0, or infinity times the sign and NaN of `overflow`.
float scaled_by(float r, int32_t steps, float overflow) {
    const int32_t field = exponent_field(r) + steps;
    return field >= 255 ? mul(overflow, kInfinity) : field < 1 ? 0.0f : with_exponent(r, field);
}

// exp(scale * x), one linear step per 1/256 of a binade: the sum is an integer whose upper bits are the exponent. The init
// multiplies its constants by the scale.
float coarse_exponential(float x, float scale) {
    const float factor = 256.0f * 1.4426950408889634f * scale;
    const float steps = mad(factor, larger_of(x, -88.5f / scale), 32500.818359375f);
    const float size = smaller_of(steps, 65535.0f);
    return flushed(from_bits(size > 0.0f ? static_cast<uint32_t>(std::floor(size + 0.5f)) << 15 : 0u));
}

}  // namespace

float power_of_two(float scaled, float constant) {
    const int32_t shift = exponent_field(scaled) - 127;
    const uint32_t significand = (to_bits(scaled) & kFractionBits) | 0x800000u;
    const uint32_t fixed = shift >= 0 ? significand << (shift & 31) : significand >> (-shift & 31);
    const float fraction = static_cast<float>(fixed & kFractionBits);
    const float mantissa = polynomial(fraction, {4.791750143340323e-15f, 7.839635491371155e-08f, constant});
    return with_exponent(mantissa, static_cast<int32_t>(fixed >> 23));
}

static float limited(float scaled) { return smaller_of(larger_of(scaled, 0.0f), 255.0f); }

float whole(float x) {
    const int32_t exponent = exponent_field(x) - 127;
    if (exponent < -1) return 0.0f;
    const uint32_t significand = (to_bits(x) & kFractionBits) | 0x800000u;
    const uint32_t size = exponent >= 15 ? 32767u : ((significand >> (22 - exponent)) + 1) >> 1;
    return with_sign_of(static_cast<float>(size < 32767u ? size : 32767u), x);
}

float whole_size(float x) { return std::fmin(std::fabs(whole(x)), 255.0f); }

float accurate_exponential(float x) {
    const float j = whole(mul(1.442695f, x));
    const float f = mad(j, -1.42860677e-6f, mad(j, -6.93145752e-1f, x));
    const float y = polynomial(f, {1.37805939e-3f, 8.37312452e-3f, 4.16695364e-2f, 1.66664720e-1f, 4.99999851e-1f, 1.0f});
    const float r = mad(y, f, 1.0f);
    const float not_finite = mul(from_bits(to_bits(y) - 1), 0.0f);  // 0 unless y is a NaN
    const int32_t field = exponent_field(r) + static_cast<int32_t>(j);
    if (field < 1) return not_finite;
    return field >= 255 ? add(not_finite, kInfinity) : with_exponent(r, field);
}

float exponential(float unscaled, const Variant& v) {
    if (v.fast) return coarse_exponential(unscaled, v.scalar[0]);
    const float x = v.scalar[0] == 1.0f ? unscaled : mul(unscaled, v.scalar[0]);
    if (v.wide) return accurate_exponential(x);
    constexpr float kConstant = 1.001953125f;
    return rounded(power_of_two(limited(mad(x, 1.4426950216293335f, 127.0f)), kConstant), v);
}

float short_exponential(float x, const Variant& v) {
    return rounded(power_of_two(limited(add(mul(x, 1.4426950216293335f), 127.0f)), 1.0017248f), v);
}

float exponential2(float x, const Variant& v) {
    if (!v.wide) return rounded(power_of_two(limited(add(x, 127.0f)), 1.0017248f), v);
    const float j = whole(x), f = add(x, -j);
    const float y = polynomial(f, {0x1.41cp-13f, 0x1.5f4p-10f, 0x1.3b4p-7f, 0x1.c6afd8p-5f});
    const float r = mad(mad(mad(y, f, 0x1.ebfba0p-3f), f, 0x1.62e42ep-1f), f, 1.0f);
    if (is_nan(x) && is_negative(x)) return mul(y, kInfinity);
    return scaled_by(r, static_cast<int32_t>(j), y);
}

// Wormhole: a parabola as first guess for the significand, then Newton steps; the exponent is mirrored.
static float newton_reciprocal(float x, int32_t steps) {
    const float negative = from_bits(0xBF800000u | (to_bits(x) & 0x7FFFFFu));
    float y = polynomial(negative, {0.3232325017452239990234375f, 1.4545459747314453125f, 2.121212482452392578125f});
    const float scale = mul(from_bits(~to_bits(x) & 0x7F800000u), 0.5f);
    for (int32_t i = 0; i < steps; ++i) y = mad(y, mad(negative, y, 1.0f), y);
    return with_sign_of(mul(y, scale), x);
}

// Blackhole has a table of 128 reciprocals with 8 bits each.
float table_reciprocal(float x) {
    const int32_t field = exponent_field(x);
    if (field == 0) return with_sign_of(kInfinity, x);
    if (field >= 253) return with_sign_of(0.0f, x);
    const uint32_t middle = 2 * (128 + ((to_bits(x) >> 16) & 127u)) + 1;
    const float table = static_cast<float>((65536u + middle / 2) / middle) / 256.0f;  // of the significand
    return with_sign_of(with_exponent(table, exponent_field(table) + 127 - field), x);
}

static float refined_reciprocal(float x, int32_t steps) {
    float y = table_reciprocal(x);
    if (steps == 0) return y;
    const float first = mad(x, y, -2.0f);
    if (!is_negative(first)) return y;  // 0 times infinity: the table's answer stands
    y = mad(y, -first, -0.0f);
    return steps == 1 ? y : mad(y, -mad(x, y, -2.0f), -0.0f);
}

float reciprocal_in_steps(float x, int32_t steps) {
    return device.chip.blackhole ? refined_reciprocal(x, steps) : newton_reciprocal(x, steps == 0 ? 1 : steps);
}

float positive_reciprocal(float x, const Variant& v) {
    if (device.chip.blackhole) {
        float y = table_reciprocal(x);
        for (int32_t i = v.wide ? 2 : 1; i > 0; --i) y = mad(y, mad(-x, y, 1.0f), y);
        return y;
    }
    float y = from_bits(0xFEF392E0u - to_bits(x));  // negative
    float e = mad(x, y, 1.0f);
    if (v.wide) {
        y = mad(y, e, y);
        e = mad(x, y, 1.0f);
    }
    return mad(-y, mad(e, e, e), -y);
}

float logistic(float x, const Variant& v) {
    const float power = v.wide ? accurate_exponential(-x)
                               : power_of_two(limited(add(mul(-x, 1.4426950216293335f), 127.0f)), 1.0017248f);
    return reciprocal_in_steps(add(1.0f, power), v.wide ? 2 : 1);
}

float sigmoid(float x, const Variant& v) {
    if (!v.fast) return rounded(logistic(x, v), v);
    const float size = magnitude(x);
    const float line = size < 1.0f   ? mad(0.2265625f, size, 0.0f)
                       : size < 2.0f ? mad(0.265625f, size, -0.046875f)
                                     : mad(0.0f, size, 0.5f);
    return add(with_sign_of(line, x), 0.5f);
}

float silu(float x, const Variant& v) { return rounded(mul(x, logistic(x, v)), v); }

// expm1(2x) / (expm1(2x) + 2), halved, with one correction of the quotient.
float accurate_tangent(float x, bool immediate) {
    const float size = magnitude(add(x, x));
    const float i = whole_size(mul(x, 2.0f * 1.442695f));
    const float f = mad(i, -0.6931471805599453f, size);
    constexpr float kFirst = 1.974105835e-04f, kSecond = 1.393318176e-3f;
    const float first = immediate ? add(mul(f, kFirst), kSecond) : mad(f, kFirst, kSecond);
    const float r = polynomial(f, {first, 8.331298828e-3f, 4.166680202e-2f, 1.666667163e-1f, 0.5f});
    const float scale = from_bits(((static_cast<uint32_t>(i) + 126u) & 255u) << 23);
    const float x0 = mad(mad(r, mul(f, f), f), scale, add(scale, -0.5f)), x1 = add(x0, 1.0f);
    float y = mad(from_bits(to_bits(size) - 1), 0.0f, 1.0f);
    if (i < 61.0f) {
        y = x;
        float inverse, quotient, rest;
        if (device.chip.blackhole) {
            const float guess = table_reciprocal(x1);
            inverse = mad(guess, mad(-x1, guess, 1.0f), guess);
            quotient = mul(x0, inverse);
            rest = mad(-x1, quotient, x0);
        } else {
            const float guess = from_bits(0xFEF30000u - to_bits(x1));  // negative
            float t = mad(x1, guess, 1.0f);
            t = mad(t, t, t);
            inverse = mad(guess, t, guess);
            quotient = mul(x0, inverse);
            rest = mad(x1, quotient, x0);
        }
        if (exponent_field(x) >= 115) y = mad(rest, inverse, quotient);
    }
    return flushed(with_sign_of(y, x));
}

float polynomial_tangent(float x) {
    const float sum = polynomial(magnitude(x), {5.876733921468257904052734375e-3f, -6.6649019718170166015625e-2f,
                                                0.281917631626129150390625f, -0.4890659749507904052734375f,
                                                3.0897438526153564453125e-2f, 0.999004364013671875f, 0.0f});
    return with_sign_of(smaller_of(sum, 1.0f), x);
}

float hyperbolic_tangent(float x, const Variant& v) {
    const float size = magnitude(x);
    if (v.fast) {
        const float line = size < 1.0f   ? mad(0.90625f, size, 0.0f)
                           : size < 2.0f ? mad(0.09375f, size, 0.8125f)
                                         : mad(0.0f, size, 1.0f);
        return with_sign_of(line, x);
    }
    if (v.wide) return accurate_tangent(x, false);
    return rounded(polynomial_tangent(x), v);
}

// Where 2^(j - 2) leaves the range of exponents: -1 or infinity.
static bool is_out_of_range(float less_two) {
    return !(is_nan(less_two) && is_negative(less_two)) && order(magnitude(less_two)) >= order(126.5f);
}
static float beyond_range(float less_two) {
    return mul(is_negative(less_two) ? -0.5f : mul(less_two, kInfinity), 2.0f);
}

// 2^i * (expm1(f) + 1) - 1 with half of 2^i, which does not overflow; 2^0 and 2^1 without losing bits.
static float accurate_expm1(float x) {
    const float biased = mad(1.442695f, x, kWholeBias), j = add(biased, -kWholeBias);
    const float f = mad(j, -1.42860677e-6f, mad(j, -0.693145752f, x));
    const float r = polynomial(f, {1.974105835e-04f, 1.393107930e-3f, 8.333439939e-3f, 4.166680202e-2f, 1.666667163e-1f,
                                   from_bits(to_bits(0.5f) - 1)});
    const float less_one = add(j, -1.0f), square = mul(f, f);
    if (j == 0.0f) return mad(r, square, f);
    if (less_one == 0.0f) return mul(mad(r, square, add(f, 0.5f)), 2.0f);
    const float t = from_bits((to_bits(biased) << 23) + to_bits(0.5f)), y = add(t, -0.5f);
    const float rest = add(add(t, -y), -0.5f), less_two = add(less_one, -1.0f);
    const float sum = add(mad(mad(r, square, f), t, rest), y);
    return is_out_of_range(less_two) ? beyond_range(less_two) : mul(sum, 2.0f);
}

static float short_expm1(float x) {
    const float biased = mad(1.442695f, x, kWholeBias), j = add(biased, -kWholeBias);
    const float f = mad(j, -0.6931471805599453f, x);
    const float r = polynomial(f, {8.361816406e-03f, 4.177856445e-02f, 1.666259766e-01f, 0.5f});
    const float less_one = mad(r, mul(f, f), f);
    if (to_bits(j) == 0) return less_one;
    const float less_two = add(j, -2.0f);
    if (is_out_of_range(less_two)) return beyond_range(less_two);
    const float scale = from_bits((to_bits(biased) << 23) + to_bits(0.5f));
    return mul(mad(scale, less_one, add(scale, -0.5f)), 2.0f);
}

float exponential_minus_one(float x, const Variant& v) { return v.wide ? accurate_expm1(x) : rounded(short_expm1(x), v); }

}  // namespace chip
}  // namespace vd
