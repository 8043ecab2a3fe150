// `chip` numerics of the vector unit: the error function, GELU and Bessel functions.
#include "chip_vector.h"
#include "chip_vector_functions.h"

namespace vd {
namespace chip {
namespace {

constexpr float kGeluIsZero = -5.54259443f;  // up to here the accurate forms give 0

float clamped(float value, float limit) { return larger_of(smaller_of(value, limit), -limit); }

// x / 2 plus a function of |x| in six lines; coefficients are Float16 numbers.
float gelu_of_lines(float x) {
    struct Line {
        float below, slope, offset;
    };
    static const Line kLines[] = {{0.5f, 0x1.8acp-3f, -0x1.b6p-14f}, {1.0f, 0x1.f9cp-2f, -0x1.488p-3f},
                                  {1.5f, 0x1.3ccp-1f, -0x1.1e4p-2f}, {2.0f, 0x1.384p-1f, -0x1.0dcp-2f},
                                  {3.0f, 0x1.148p-1f, -0x1.e9p-4f},  {kInfinity, 0.5f, 0.0f}};
    const float size = from_bits(to_bits(x) & ~kSign);
    const Line* line = kLines;
    while (line->below < kInfinity && !(size < line->below)) ++line;
    return add(mul(x, 0.5f), mad(line->slope, size, line->offset));
}

// x * (1 + erf(x / sqrt(2))) / 2 with a quotient of polynomials for the error function.
float accurate_gelu(float x) {
    if (!(rank(x) > order(kGeluIsZero))) return 0.0f;
    const float scaled = smaller_of(mul(x, 0.7071067811865475f), 10.0f), square = mul(scaled, scaled);
    const float above = polynomial(square, {-2.8632063387e-10f, 2.7384647439e-08f, 1.7678321456e-05f, 6.1307044234e-04f,
                                            5.6230435148e-03f, 6.2133435160e-02f, 2.1477432549e-01f, 1.1283791065e+00f});
    const float below =
        polynomial(square, {-6.7350725691e-12f, -3.5153888689e-09f, 1.3156344494e-06f, 1.3179056987e-04f,
                            1.9545555115e-03f, 1.9642570987e-02f, 1.2961706519e-01f, 5.2367275953e-01f, 1.0f});
    const float erf = clamped(mul(mul(above, scaled), reciprocal_in_steps(below, 2)), 1.0f);
    return erf == -1.0f ? mul(x, 0x1p-25f) : mul(x, add(mul(0.5f, erf), 0.5f));
}

// For a 16-bit DST: x itself, x times a polynomial for the normal distribution, or in the negative tail x times
// exp(-x^2 / 2) and a correction, rounded to multiples of 2^-25.
float short_gelu(float x) {
    if (!(rank(x) > order(kGeluIsZero))) return 0.0f;
    if (is_at_least(x, 2.78125f)) return x;
    const float square = mul(x, x);
    if (is_at_least(x, -3.125f)) {
        const float odd = polynomial(square, {7.9821413868e-08f, -3.8082057209e-06f, 8.1812159812e-05f, -1.0717806322e-03f,
                                              9.7720050615e-03f, -6.6361041488e-02f, 3.9894227818e-01f});
        return mul(x, add(mul(x, odd), 0.5f));
    }
    const float tail = power_of_two(add(mul(square, -0.72134752044f), 127.0f), 1.0017248f);
    const float correction =
        polynomial(x, {7.5950479368e-04f, 1.3809983619e-02f, 9.5413386822e-02f, 3.0369991064e-01f});
    return mul(x, add(add(mul(tail, correction), 0.375f), -0.375f));
}

}  // namespace

float gelu(float x, const Variant& v) {
    return v.fast ? gelu_of_lines(x) : v.wide ? accurate_gelu(x) : rounded(short_gelu(x), v);
}

float gelu_by_tangent(float x, const Variant& v) {
    const float cubic = mul(x, mad(mul(x, x), 0.044715f, 1.0f)), half = mul(x, 0.5f);
    return rounded(mad(half, accurate_tangent(mul(cubic, 0.7978845608028654f), true), half), v);
}

// A polynomial in the middle; the tail is x * exp(-x^2 / 2) with the first terms of an asymptotic series.
float gelu_derivative(float x, const Variant& v) {
    if (!is_negative(sub(x, 3.1719f))) return 1.0f;
    const float square = mul(x, x);
    if (!is_negative(sub(x, -3.0f))) {
        const float odd = polynomial(square, {4.2734988881e-09f, -2.3764030743e-07f, 6.0921474869e-06f, -9.7448595625e-05f,
                                              1.1061388068e-03f, -9.4142099842e-03f, 5.9766173363e-02f, -2.6593554020e-01f,
                                              7.9788309336e-01f});
        return rounded(add(mul(x, odd), 0.5f), v);
    }
    if (!is_above(x, -13.375f)) return 0.0f;
    const float tail = mul(times_exponential(x, mul(square, -0.5f)), 0.3989422804014327f);
    if (v.fast) return rounded(tail, v);
    const float inverse = reciprocal_in_steps(square, v.wide ? 2 : 1);
    return rounded(mul(tail, mad(inverse, inverse, sub(1.0f, inverse))), v);
}

// A quotient of polynomials, saturated.
float error_function(float x, const Variant& v) {
    const float limited = with_sign_of(smaller_of(magnitude(x), 10.0f), x), square = mul(limited, limited);
    const float above = mul(limited, polynomial(square, {7.4481184425e-04f, 4.5400281738e-02f, 2.7609212279e-01f,
                                                         1.1280932447e+00f}));
    const float below = polynomial(square, {2.4813862145e-05f, 8.2844606784e-03f, 1.3675764810e-01f, 5.7439188334e-01f,
                                            1.0f});
    return clamped(mul(above, reciprocal_in_steps(below, v.fast ? 0 : 2)), 1.0f);
}

// By the logarithm of 1 - x^2 and two roots, after Winitzki.
float inverse_error_function(float x) {
    const float log = short_logarithm(minus_product(1.0f, x, x));
    const float tmp = add(mul(log, -0.5f), -4.330746750799873f);
    const float root = legacy_root(mad(tmp, tmp, -mul(log, 6.802721088435375f)));
    return with_sign_of(legacy_root(add(tmp, root)), x);
}

// Another one for each half of 0 .. 5; 2 minus it for negative numbers.
float error_function_complement(float x) {
    const float size = smaller_of(magnitude(x), 5.0f);
    const bool far = !is_negative(sub(size, 2.5f));
    const float above =
        far ? polynomial(size, {-4.7387182178e-08f, 9.1439767402e-07f, -6.6162156145e-06f, 2.1275576728e-05f,
                                -2.5655237550e-05f})
            : polynomial(size, {1.3746744953e-02f, -1.5691982210e-01f, 6.8185544014e-01f, -1.3375675678e+00f,
                                1.0000233650e+00f});
    const float below =
        far ? polynomial(size, {-2.1375391632e-02f, 1.2677097321e-01f, -1.3888636231e-01f, -2.0572184026e-01f,
                                -1.6457208991e-01f, 1.0f})
            : polynomial(size, {2.8375532478e-02f, 2.5104774162e-02f, -3.4568668343e-03f, 4.3667086959e-01f,
                                -2.0801517367e-01f, 1.0f});
    const float r = mul(above, reciprocal_in_steps(below, 0));
    return is_negative(x) ? add(-r, 2.0f) : r;
}

// The modified Bessel functions of order 0, by its series, and of order 1: a quotient of polynomials, from 10 on
// exp(|x|) / sqrt(|x|) with a correction. Order 1 is rounded to bf16 for every DST.
float bessel0(float x) {
    const float square = mul(x, x);
    const float terms = polynomial(square, {1.50e-22f, 7.24e-20f, 2.90e-17f, 9.39e-15f, 2.40e-12f, 4.71e-10f, 6.78e-08f,
                                            0.000006781684028f, 0.0004340277778f});
    return mad(add(mul(add(mul(terms, square), 0.015625f), square), 0.25f), square, 1.0f);
}
float bessel1(float x) {
    const float size = smaller_of(magnitude(x), 88.5f), limited_x = with_sign_of(size, x);
    const float square = mul(limited_x, limited_x);
    if (!is_above(size, 10.0f)) {
        const float above = polynomial(square, {2.0223499130e-05f, 1.6126291630e-03f, 5.4503594600e-02f, 4.9992737740e-01f});
        const float below = polynomial(square, {-2.5076132990e-07f, 1.0333660750e-04f, -1.6242591070e-02f, 1.0f});
        return rounded(mul(mul(above, limited_x), reciprocal_in_steps(below, 2)), Variant{});
    }
    const float power = power_of_two(add(mul(size, 1.4426950216293335f), 127.0f), 1.0017248f);
    const float root = reciprocal_root(size, Variant{true, false, false, true, {}});
    const float correction = polynomial(mul(root, root), {-3.3467922914e-01f, -1.9748322314e-02f, -4.3674591560e-02f,
                                                          -4.6652925320e-02f, -1.4960495444e-01f, 3.9894228967e-01f});
    return rounded(with_sign_of(mul(mul(power, root), correction), limited_x), Variant{});
}

}  // namespace chip
}  // namespace vd
