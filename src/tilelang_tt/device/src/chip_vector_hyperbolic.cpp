// `chip` numerics of the vector unit: hyperbolic functions and their inverses.
#include "chip_vector.h"
#include "chip_vector_functions.h"

namespace vd {
namespace chip {
namespace {

// |x| = steps * log(2) + rest
struct Steps {
    float size, rest;
    uint32_t steps;  // 255 at most
};
Steps steps_of_log2(float x, const Variant& v) {
    const float size = from_bits(to_bits(x) & ~kSign), j = whole_size(mul(x, kLog2OfE));
    const float rest = v.wide ? mad(j, -1.42860677e-6f, mad(j, -0.693145752f, size)) : mad(j, -0.6931471805599453f, size);
    return {size, rest, static_cast<uint32_t>(j)};
}

// A quarter of exp(|x|) does not overflow before the results do.
float quarter_exponential(float x, const Variant& v) {
    const Steps s = steps_of_log2(x, v);
    const float r = v.wide ? polynomial(s.rest, {1.37805939e-3f, 8.37312452e-3f, 4.16695364e-2f, 1.66664720e-1f,
                                                 4.99999851e-1f, 1.0f, 1.0f})
                           : polynomial(s.rest, {0.038877178f, 0.168174848f, 0.500122011f, 0.999963462f, 1.0f});
    const uint32_t field = s.steps + 125u;
    return field < 255u ? mul(r, from_bits(field << 23)) : mul(s.size, kInfinity);
}

// A quarter of exp(|x|) - 1.
float quarter_expm1(float x, const Variant& v) {
    const Steps s = steps_of_log2(x, v);
    const float r = v.wide ? polynomial(s.rest, {add(mul(s.rest, 1.974105835e-04f), 1.393107930e-3f), 8.333439939e-3f,
                                                 4.166680202e-2f, 1.666667163e-1f, 4.999999702e-1f})
                           : polynomial(s.rest, {add(mul(s.rest, 8.361816406e-03f), 4.177856445e-02f), 1.666259766e-01f,
                                                 0.5f});
    const float less_one = mad(r, mul(s.rest, s.rest), s.rest);
    const float scale = from_bits((s.steps << 23) + to_bits(0.25f));
    return s.steps < 130u ? mad(less_one, scale, sub(scale, 0.25f)) : mul(s.size, kInfinity);
}

// The root of x >= 0 by Newton's steps.
float newton_root(float x, const Variant& v) {
    if (to_bits(x) == 0) return 0.0f;
    const float half = with_exponent(x, exponent_field(x) - 1);
    float y = from_bits(0x5F1110A0u - (to_bits(x) >> 1));
    for (int32_t i = v.wide ? 3 : 2; i > 0; --i) y = mul(y, add(-mul(mul(half, y), y), 1.5f));
    const float root = mul(x, y);
    return mad(mul(minus_product(x, root, root), 0.5f), y, root);
}

// The inverses are logarithms of 1 + argument, which goes through DST. From here on roots would overflow; log(2) is added.
constexpr float kLarge = 0x1p28f, kLog2 = 0.6931471805599453f;
bool is_large(float x) { return !is_negative(sub(x, kLarge)); }
float log1p_through_dst(float argument, const Variant& v) { return log_of_one_plus(through_dst(argument, v), v); }

}  // namespace

// (t + 1 / t) / 2 with t = exp(|x|).
float hyperbolic_cosine(float x, const Variant& v) {
    const float q = quarter_exponential(x, v), inverse = mul(positive_reciprocal(q, v), 0.125f);
    const float y = add(q, q);
    return rounded(exponent_field(q) - 127 < 24 ? add(y, inverse) : y, v);
}

// (t + t / (t + 1)) / 2 with t = exp(|x|) - 1; x itself where that is tiny.
float hyperbolic_sine(float x, const Variant& v) {
    const float q = quarter_expm1(x, v);
    const int32_t exponent = exponent_field(q) - 127;
    if (exponent < -27) return rounded(flushed(x), v);
    const float inverse = positive_reciprocal(add(mul(q, 4.0f), 1.0f), v), twice = add(q, q);
    return rounded(with_sign_of(exponent < 23 ? mad(twice, inverse, twice) : twice, x), v);
}

float inverse_hyperbolic_sine(float x, const Variant& v) {
    const float size = magnitude(x), square = mul(x, x);
    float y;
    if (is_negative(sub(size, 0.75f))) {
        y = mul(size, polynomial(square, {4.375355784e-03f, -1.484858524e-02f, 2.785361186e-02f, -4.417778924e-02f,
                                          7.495806366e-02f, -1.666652262e-01f, 1.0f}));
    } else if (is_large(size)) {
        y = add(log1p_through_dst(add(size, -1.0f), v), kLog2);
    } else {
        const float root = newton_root(mad(x, x, 1.0f), v);
        y = log1p_through_dst(mad(square, positive_reciprocal(add(root, 1.0f), v), size), v);
    }
    return rounded(with_sign_of(y, x), v);
}

float inverse_hyperbolic_cosine(float x, const Variant& v) {
    const float rest = sub(x, 1.0f);
    if (to_bits(rest) == 0) return 0.0f;
    if (is_negative(rest)) return rounded(kNan, v);
    if (is_large(x)) return rounded(add(log1p_through_dst(rest, v), kLog2), v);
    return rounded(log1p_through_dst(add(rest, newton_root(mul(add(x, 1.0f), rest), v)), v), v);
}

float inverse_hyperbolic_tangent(float x, const Variant& v) {
    const float size = magnitude(x), rest = sub(size, 1.0f);
    if (to_bits(rest) == 0) return with_sign_of(kInfinity, x);
    if (!is_negative(rest)) return rounded(kNan, v);
    const float argument = mul(add(size, size), positive_reciprocal(sub(1.0f, size), v));
    return rounded(with_sign_of(mul(log1p_through_dst(argument, v), 0.5f), x), v);
}

}  // namespace chip
}  // namespace vd
