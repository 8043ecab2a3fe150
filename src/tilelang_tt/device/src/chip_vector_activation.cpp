// `chip` numerics of the vector unit: activation functions made of exponentials and polynomials.
#include "chip_vector.h"
#include "chip_vector_functions.h"

namespace vd {
namespace chip {
namespace {

// x = steps * log(2) + rest; `scaled` is x / log(2).
struct Split {
    float rest;
    int32_t steps;
};
Split split_by_log2(float x, float scaled) {
    const float biased = add(scaled, kWholeBias), j = sub(biased, kWholeBias);
    const float rest = mad(j, -3.19461832987e-05f, mad(j, -0.693115234375f, x));
    return {rest, static_cast<int32_t>(to_bits(biased) - to_bits(kWholeBias))};
}
Split split_by_log2(float x) { return split_by_log2(x, mul(x, kLog2OfE)); }

// The series of exp with its higher terms summed up.
float exponential_series(float x, float terms) { return mad(x, mad(x, add(mul(x, terms), 0.5f), 1.0f), 1.0f); }
float seventh_order(float x) {
    return exponential_series(x, polynomial(x, {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6}));
}
float scaled_up(float value, int32_t steps) {
    const int32_t field = exponent_field(value) + steps;
    return field > 0 ? with_exponent(value, field) : 0.0f;
}

}  // namespace

float times_exponential(float x, float power) {
    const Split s = split_by_log2(power);
    const float terms = polynomial(s.rest, {1.0f / 120, 1.0f / 24, 1.0f / 6});
    return scaled_up(mul(x, exponential_series(s.rest, terms)), s.steps);
}

// max(t, 0) and a polynomial in |t|, where t = scalar * x; x itself from the threshold on.
float softplus(float x, const Variant& v) {
    const float t = mul(x, v.scalar[0]);
    if (!is_negative(sub(t, v.scalar[2]))) return x;
    const float size = from_bits(to_bits(t) & ~kSign);
    const float rest = is_above(size, 5.0f)
                           ? 0.0f
                           : polynomial(size, {-3.1273466851e-05f, 5.0152968088e-04f, -1.8627923291e-03f, -1.3000584069e-02f,
                                               1.4279095486e-01f, -5.0932420424e-01f, 6.9423984729e-01f});
    return rounded(mul(add(larger_of(t, 0.0f), rest), v.scalar[1]), v);
}

float exponential_linear(float x, float scale, float power, float above, const Variant& v) {
    if (!is_negative(x)) return rounded(flushed(above), v);
    const Split s = split_by_log2(larger_of(power, -87.0f));
    const float less_one =
        mul(s.rest, polynomial(s.rest, {0.00837513153f, 0.0418756641f, 0.166664332f, 0.499993712f, 1.0f}));
    const float two = with_exponent(1.0f, s.steps + 127);
    return rounded(mul(mad(two, less_one, add(two, -1.0f)), scale), v);
}

// u (u + 2) / (u^2 + 2 u + 2) with u = exp(x); Blackhole takes 1 - 2 / (u^2 + 2 u + 2) for positive numbers.
float mish(float x, const Variant& v) {
    if (!is_negative(sub(x, 8.0f))) return rounded(flushed(x), v);
    const float u = v.wide && !v.fast ? accurate_exponential(x) : short_exponential(x, v), more = add(u, 1.0f);
    const float inverse = reciprocal_in_steps(mad(more, more, 1.0f), v.fast ? 0 : v.wide ? 2 : 1);
    const float share = device.chip.blackhole && !is_negative(x) ? add(mul(-2.0f, inverse), 1.0f)
                                                                : mul(mul(u, add(u, 2.0f)), inverse);
    return rounded(mul(x, share), v);
}

// Blackhole alone has it: the narrow tanh for every DST.
float softcap(float x, const Variant& v) {
    return rounded(mul(polynomial_tangent(mul(x, v.scalar[1])), v.scalar[0]), v);
}

// x - tanh(x): a series up to 1.
float tangent_shrink(float x, const Variant& v) {
    const float size = from_bits(to_bits(x) & ~kSign), square = mul(x, x);
    if (!is_above(size, 1.0f)) {
        const float terms = v.wide ? polynomial(square, {4.2079269770e-04f, -2.5107525289e-03f, 8.2192532718e-03f,
                                                         -2.1660288796e-02f, 5.3934831172e-02f, -1.3333128393e-01f,
                                                         3.3333331347e-01f})
                                   : polynomial(square, {-1.0762925260e-02f, 4.8076551408e-02f, -1.3223160803e-01f,
                                                         3.3329936862e-01f});
        return rounded(mul(mul(x, square), terms), v);
    }
    if (!v.wide) {
        const float p = polynomial(size, {5.3348409333e-02f, -4.0859283753e-01f, 1.0561303143e+00f, 6.1829000893e-02f});
        return rounded(sub(x, with_sign_of(smaller_of(p, 1.0f), x)), v);
    }
    const float e = accurate_exponential(mul(smaller_of(size, 9.0f), -2.0f));
    const float share = reciprocal_in_steps(add(e, 1.0f), device.chip.blackhole ? 2 : 1);
    return with_sign_of(sub(size, add(mul(share, 2.0f), -1.0f)), x);
}

float tangent_derivative(float x, const Variant& v) {
    const float size = magnitude(x);
    float y = 0.0f;
    if (is_negative(sub(size, 3.0f))) {
        y = polynomial(mad(mul(size, size), 2.0f / 9.0f, -1.0f),
                       {6.33840343077387569082e-02f, -1.46346136132160548060e-01f, 6.00316523798012785518e-02f,
                        5.00465512420113917136e-02f, 3.59505515570256450886e-02f, -1.43049915574319674860e-01f,
                        1.47692044971667296727e-01f, -1.40162303416289407698e-01f, 1.41578556434459129632e-01f,
                        -1.15151201975556879975e-01f, 5.58971869398334972323e-02f});
    } else if (is_negative(sub(size, 45.0f))) {  // 4 exp(-2 x)
        const Split s = split_by_log2(add(mul(size, -2.0f), 1.3862943611198906f));
        y = scaled_up(exponential_series(s.rest, mad(s.rest, 1.0f / 24, 1.0f / 6)), s.steps);
    }
    return rounded(y, v);
}

// Minus softplus of -x; exp(-x) is given.
float log_of_sigmoid(float x, float exp_of_minus_x) {
    if (is_negative(sub(-x, -4.0f))) return -exp_of_minus_x;
    if (!is_negative(sub(-x, 4.0f))) return x;
    return -polynomial(-x, {7.4961114648886e-08f, 7.1853546614875086e-06f, 5.3185409342404455e-05f,
                            -0.00028794066747650504f, -0.00330807245336473f, 0.0031102809589356184f,
                            0.12142381817102432f, 0.49275708198547363f, 0.6924354434013367f});
}

// Half of x, and for positive numbers a square, for others exp(x) - 1 - x, each with a factor.
float xielu(float x, const Variant& v) {
    const float half = mul(x, 0.5f);
    if (!is_negative(x) && to_bits(x) != 0) return rounded(mad(mul(x, v.scalar[0]), x, half), v);
    float term;
    if (!is_negative(sub(x, -1e-6f))) {
        term = sub(-0.0000009999995427f, x);
    } else if (is_above(x, -0.5f)) {
        term = mul(mul(x, x), polynomial(x, {1.99588379473425447940826416015625e-4f, 1.400390756316483020782470703125e-3f,
                                             8.333188481628894805908203125e-3f, 4.16650883853435516357421875e-2f,
                                             0.16666667163372039794921875f, 0.500000059604644775390625f}));
    } else {
        const Split s = split_by_log2(x, larger_of(mul(x, kLog2OfE), -126.5f));
        const float p = seventh_order(s.rest);
        term = sub(add(with_exponent(p, exponent_field(p) + s.steps), -1.0f), x);
    }
    return rounded(mad(v.scalar[1], term, half), v);
}

// x + sin(a x)^2 / b
float snake(float x, float a, float b, const Variant& v) {
    const float turns = mul(mul(a, x), 0.318309886183791f);
    const float rest = mul(sub(turns, whole(turns)), 3.141592653589793f), s = mul(rest, rest);
    const float r = v.wide ? polynomial(s, {0x1.5dc908p-19f, -0x1.9f70fp-13f, 0x1.110edap-7f, -0x1.55554cp-3f})
                           : polynomial(s, {-0x1.8b10a4p-13f, 0x1.10c2a2p-7f, -0x1.5554a4p-3f});
    const float sine = mad(mul(rest, s), r, rest);
    return rounded(mad(mul(sine, sine), reciprocal_in_steps(b, v.wide ? 2 : 1), x), v);
}

}  // namespace chip
}  // namespace vd
