// `chip` numerics of the vector unit: the tangent and the angles that sine, cosine and tangent belong to.
#include "chip_vector.h"
#include "chip_vector_functions.h"

namespace vd {
namespace chip {
namespace {

constexpr float kTwoOverPi = 0.6366197466850281f, kHalfPi = 0x1.921fb6p+0f;

// Minus 1 / x after one refinement. Wormhole starts from a parabola for the significand.
float negative_inverse(float x) {
    if (device.chip.blackhole) {
        const float y = table_reciprocal(x);
        return mad(-y, mad(-x, y, 1.0f), -y);
    }
    const float negative = from_bits(0xBF800000u | (to_bits(x) & kFractionBits));
    float y = polynomial(negative, {0.3232325017452239990234375f, 1.4545459747314453125f, 2.121212482452392578125f});
    y = mad(y, mad(negative, y, 1.0f), y);
    return mul(y, mul(from_bits(~to_bits(x) & ~kFractionBits), 0.5f));
}

// The root of x >= 0 with all bits of fp32; nonsense for others.
float accurate_root(float x) {
    float y = from_bits(0x5F1110A0u - (to_bits(x) >> 1));
    const float c = mul(-y, mul(x, y));
    y = mul(y, mad(c, add(2.2533049f, c), 2.2825186f));
    const float xy = mul(x, y);
    return mad(mad(-y, xy, 1.0f), mul(xy, 0.5f), xy);
}

// An arc by a polynomial around zero; from `limit` on it is that of the other side, sqrt((1 - size) / 2), twice.
struct Reduced {
    float half;    // (1 - size) / 2
    float beyond;  // size - limit: the sign says which side
    float side;
};
Reduced reduced(float size, float limit, float (*root)(float)) {
    const float half = mul(sub(1.0f, size), 0.5f), beyond = sub(size, limit);
    return {half, beyond, is_negative(beyond) ? size : root(half)};
}

float short_arcsine(float x) {
    const Reduced r = reduced(magnitude(x), 0.625f, legacy_root);
    const float ratio = polynomial(mul(r.side, r.side), {0.083148844540119171142578125f, 0.06381262838840484619140625f,
                                                         0.16771225631237030029296875f, 0.999978601932525634765625f});
    const float arc = mul(r.side, ratio);
    return with_sign_of(is_negative(r.beyond) ? arc : sub(kHalfPi, mul(arc, 2.0f)), x);
}
// The first terms of the arc that belongs to a tangent whose square is s.
float arc_terms(float s) {
    return polynomial(s, {0x1.01cp-8f, -0x1.4bcp-6f, 0x1.93p-5f, -0x1.48cp-4f, 0x1.bd4p-4f, -0x1.24p-3f});
}


}  // namespace

float tangent(float x, const Variant& v) {
    const float biased = mad(x, kTwoOverPi, kWholeBias), j = sub(biased, kWholeBias);
    float a = add(x, mul(j, -0x1.92p+0f));
    a = mad(j, -0x1.fbp-12f, a);
    a = mad(j, -0x1.51p-22f, a);
    a = mad(j, -0x1.0b4612p-34f, a);
    const float s = mul(a, a);
    const float t = mul(s, v.wide ? polynomial(s, {0x1.fa9f82p-9f, 0x1.2b404p-10f, 0x1.4787dp-7f, 0x1.620abcp-6f,
                                                   0x1.ba5716p-5f, 0x1.111072p-3f, 0x1.555556p-2f})
                                  : polynomial(s, {0x1.4f1f4ep-4f, 0x1.02b98p-3f, 0x1.55953p-2f}));
    const float r = mad(t, a, a);
    if ((to_bits(biased) & 1u) == 0) return rounded(r, v);
    const float inverse = negative_inverse(r);
    if (!v.wide) return rounded(inverse, v);
    const float lost = mad(t, a, sub(a, r));  // of r
    return mad(mad(lost, inverse, mad(r, inverse, 1.0f)), inverse, inverse);
}

float arcsine(float x, const Variant& v) {
    if (!v.wide) return rounded(is_above(magnitude(x), 1.0f) ? kNan : short_arcsine(x), v);
    const Reduced r = reduced(magnitude(x), 0.5625f, accurate_root);
    if (is_negative(r.half)) return kNan;
    const float s = mul(r.side, r.side);
    const float p = polynomial(s, {0x1.9ep-5f, 0x1.364p-6f, 0x1.7dcp-5f, 0x1.329a74p-4f, 0x1.55578cp-3f});
    const float arc = mad(mul(p, s), r.side, r.side);
    return with_sign_of(is_negative(r.beyond) ? arc : add(kHalfPi, mul(arc, -2.0f)), x);
}

float arccosine(float x, const Variant& v) {
    if (!v.wide) return rounded(is_above(magnitude(x), 1.0f) ? kNan : sub(kHalfPi, short_arcsine(x)), v);
    const Reduced r = reduced(magnitude(x), 0.5625f, accurate_root);
    if (is_negative(r.half)) return kNan;
    const bool inner = is_negative(r.beyond);
    const float s = mul(r.side, r.side);
    const float p = polynomial(s, {0x1.83p-5f, 0x1.cap-8f, 0x1.158p-5f, 0x1.6acp-5f, 0x1.33411ep-4f, 0x1.555552p-3f});
    const float side = with_sign_of(r.side, is_negative(x) != inner ? -1.0f : 1.0f);
    float arc = mad(mul(p, s), side, side);
    if (inner || is_negative(side)) arc = add(arc, kHalfPi);
    return inner ? arc : add(arc, arc);
}

float arctangent(float x, const Variant& v) {
    if (!v.wide) {
        if (is_nan(x)) return rounded(kNan, v);
        const float size = magnitude(x);
        const bool beyond = !is_negative(add(size, -1.0f));
        const float a = beyond ? reciprocal_in_steps(size, 2) : size, s = mul(a, a);
        const float arc = mul(a, polynomial(s, {-4.4326744973659515380859375e-2f, 0.1555790007114410400390625f,
                                                -0.325808584690093994140625f, 0.999787867069244384765625f}));
        return rounded(with_sign_of(beyond ? sub(kHalfPi, arc) : arc, x), v);
    }
    const float size = from_bits(to_bits(x) & ~kSign);
    const int32_t exponent = exponent_field(x) - 127;
    float a = size;
    if (exponent >= 26) {
        a = mul(from_bits(to_bits(size) - 1), 0.0f);  // a NaN stays one
    } else if (exponent >= 0) {
        a = positive_reciprocal(size, v);
    }
    const float s = mul(a, a);
    const float p = polynomial(s, {arc_terms(s), 0x1.999384p-3f, -0x1.555552p-2f});
    const float arc = mad(p, mul(s, a), a);
    return with_sign_of(exponent >= 0 ? sub(kHalfPi, arc) : arc, x);
}

// The arc of the smaller of |y| and |x| divided by the larger; at most an eighth of a turn. Numbers are ordered by bits.
float arctangent_of_quotient(float y, float x, const Variant& v) {
    const float size = from_bits(to_bits(x) & ~kSign), other = from_bits(to_bits(y) & ~kSign);
    const float least = smaller_of(size, other), most = larger_of(size, other);
    if (is_nan(most)) return kNan;
    float arc;
    if (to_bits(least) == to_bits(most)) {
        arc = to_bits(least) == 0 ? 0.0f : 0.5f * kHalfPi;
    } else {
        const float a = mul(least, reciprocal_in_steps(most, v.wide && !v.approximate ? 2 : 0)), s = mul(a, a);
        const float p = v.wide ? polynomial(s, {arc_terms(s), 0x1.99938ap-3f, -0x1.555558p-2f})
                               : polynomial(s, {-0x1.de8p-5f, 0x1.668p-3f, -0x1.54p-2f});
        arc = mad(mul(p, s), a, a);
        if (to_bits(least) == to_bits(size)) arc = sub(kHalfPi, arc);
    }
    if (is_negative(x)) arc = sub(2.0f * kHalfPi, arc);
    return with_sign_of(rounded(arc, v), y);
}

}  // namespace chip
}  // namespace vd
