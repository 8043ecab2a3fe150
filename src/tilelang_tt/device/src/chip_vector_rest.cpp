// `chip` numerics of the vector unit: quotients of a scalar and rests of divisions.
#include "chip_vector.h"
#include "chip_vector_functions.h"

namespace vd {
namespace chip {
namespace {

float without_fraction(float x) {
    const int32_t exponent = exponent_field(x) - 127;
    const uint32_t mask = exponent < 0 ? kSign : exponent < 23 ? ~0u << (23 - exponent) : ~0u;
    return from_bits(to_bits(x) & mask);
}

// Comparisons with zero look at a difference: Wormhole's has no -0.
bool is_below_zero(float x) { return is_negative(sub(x, 0.0f)); }
bool is_zero(float x) { return to_bits(sub(x, 0.0f)) == 0; }

}  // namespace

static float floored(float x) {
    const float whole_part = without_fraction(x);
    return is_negative(x) && to_bits(whole_part) != to_bits(x) ? add(whole_part, -1.0f) : whole_part;
}

float divided_scalar(float x, const Variant& v) {
    const float inverse = rounded(reciprocal_in_steps(x, v.approximate ? 0 : v.wide ? 2 : 1), v);
    const float quotient = mul(inverse, v.scalar[0]);
    const uint32_t rounding = to_bits(v.scalar[1]);  // 1: towards zero, 2: down
    if (rounding == 0) return quotient;
    return rounding == 1 ? without_fraction(quotient) : floored(quotient);
}

// a - b * whole(a / b); the quotient may be off by one, so the rest is brought below b and to the sign of a.
float rest_of_division(float a, float b, const Variant& v) {
    if (is_zero(b)) return rounded(kNan, v);
    if (to_bits(sub(a, b)) == 0) return 0.0f;
    const float size = magnitude(b);
    float rest = minus_product(a, without_fraction(mul(a, reciprocal_in_steps(b, 2))), b);
    if (!is_negative(sub(magnitude(rest), size))) rest = is_below_zero(rest) ? add(rest, size) : sub(rest, size);
    if (!is_below_zero(a)) {
        if (is_below_zero(rest)) rest = add(rest, size);
    } else if (!is_below_zero(rest) && !is_zero(rest)) {
        rest = sub(rest, size);
    }
    return rounded(rest, v);
}

float floored_rest(float a, float b, const Variant& v) {
    if (is_zero(b)) return rounded(kNan, v);
    float rest = minus_product(a, floored(mul(a, reciprocal_in_steps(b, 2))), b);
    const bool zero = device.chip.blackhole ? to_bits(rest) == 0 : is_zero(rest);
    if (!zero && is_negative(rest) != is_negative(b)) rest = add(rest, b);
    const float less = sub(rest, b);
    if (is_above(b, 0.0f) && is_above(a, 0.0f) && !is_below_zero(less)) rest = less;
    const float again = sub(rest, b);
    if (is_below_zero(b) && is_below_zero(a) && !is_above(again, 0.0f)) rest = again;
    return rounded(rest, v);
}

// Of sizes, not corrected upwards; the quotient is cut by shifts.
static float rest_of_sizes(float x, const Variant& v) {
    const float size = magnitude(x), quotient = mul(size, magnitude(v.scalar[1]));
    float whole_part = exponent_field(quotient) < 127 ? 0.0f : without_fraction(quotient);
    if (is_above(whole_part, quotient)) whole_part = add(whole_part, -1.0f);
    return minus_product(size, whole_part, magnitude(v.scalar[0]));
}
// What is still too large is made smaller ten times at most.
static float brought_below(float rest, float divisor) {
    if (to_bits(divisor) == 0) rest = kNan;
    for (int32_t i = 0; i < 10 && !is_negative(sub(rest, divisor)); ++i) rest = sub(rest, divisor);
    return to_bits(sub(magnitude(rest), divisor)) == 0 ? 0.0f : rest;
}

float rest_of_scalar(float x, const Variant& v) {
    return brought_below(with_sign_of(rest_of_sizes(x, v), x), magnitude(v.scalar[0]));
}

float floored_rest_of_scalar(float x, const Variant& v) {
    const float divisor = magnitude(v.scalar[0]);
    float rest = rest_of_sizes(x, v);
    if (is_negative(x) && to_bits(rest) != 0) rest = sub(divisor, rest);
    if (is_negative(v.scalar[0]) && to_bits(rest) != 0) rest = add(rest, v.scalar[0]);
    return brought_below(with_sign_of(rest, v.scalar[0]), divisor);
}

}  // namespace chip
}  // namespace vd
