// `chip` numerics of the vector unit: the gamma function's kin. Meanings are in gamma.h.
#include "chip_vector.h"
#include "chip_vector_functions.h"
#include "gamma.h"

namespace vd {
namespace chip {
namespace {

// The older logarithm: a cubic for the significand in [1, 2).
float cubic_logarithm(float x) {
    const float series = polynomial(with_exponent(x, 127), {0x2.44734p-4f, -0xd.e712ap-4f, 0x2.4f5388p+0f, -0x1.952992p+0f});
    if (to_bits(sub(x, 0.0f)) == 0) return -kInfinity;
    return mad(static_cast<float>(exponent_field(x) - 127), 0.692871f, series);
}

bool is_less(float x, float limit) { return is_negative(sub(x, limit)); }
bool is_equal(float x, float y) { return to_bits(sub(x, y)) == 0; }
float mirrored(float x) { return is_less(x, 0.5f) ? sub(1.0f, x) : x; }

// (z - 0.5) * log(z) - z is given; with log(sqrt(2 pi)) and the rest of Stirling's series: a polynomial in 1 / z^2, over z.
float stirling(float z, float start, std::initializer_list<float> coefficients) {
    const float inverse = reciprocal_in_steps(z, 2);
    return mad(inverse, polynomial(mul(inverse, inverse), coefficients), add(start, kLogOfRoot2Pi));
}

}  // namespace

float log_of_gamma(float x, const Variant& v) {
    if (is_equal(x, 1.0f) || is_equal(x, 2.0f)) return 0.0f;
    const float z = mirrored(x);
    const float start = mad(add(z, -0.5f), cubic_logarithm(z), -z);
    return rounded(stirling(z, start, {-0.0027777777f, 0.0833333333f}), v);
}

float log_of_gamma_with(float x, float log_of_z) {
    const float z = mirrored(x), near_1 = add(z, -1.0f), near_2 = add(z, -2.0f);
    if (is_less(magnitude(add(z, -0.5f)), 0.01f)) return kLogOfRootPi;
    if (is_less(magnitude(near_1), 0.25f)) {
        return mul(near_1, polynomial(near_1, {-0.20738555f, 0.27058081f, -0.40068563f, 0.82246703f, -0.57721566f}));
    }
    if (is_less(magnitude(near_2), 0.25f)) {
        return mul(near_2, polynomial(near_2, {-0.00738555f, 0.02058081f, -0.06735230f, 0.32246703f, 0.42278434f}));
    }
    const float half_less = add(z, -0.5f);  // Wormhole's compiler rounds this product first
    const float start = device.chip.blackhole ? mad(half_less, log_of_z, -z) : sub(mul(half_less, log_of_z), z);
    return stirling(z, start, {-0.0005952380f, 0.0007936507f, -0.0027777777f, 0.0833333333f});
}

float reflected_log_of_gamma(float series, float log_of_sine, float x, const Variant& v) {
    if (v.wide && (to_bits(x) & 0x7FFFFFFFu) == kInfinityBits) return kInfinity;
    return rounded(is_less(x, 0.5f) ? sub(sub(kLogOfPi, log_of_sine), series) : series, v);
}

// A quotient of polynomials up to 102, whatever the sign, and the series of large numbers beyond.
float digamma_function(float x) {
    if (!is_above(x, 102.0f)) {
        const float above = polynomial(x, {8.7151519954e-02f, 2.4847094727e+02f, 1.9496867188e+04f, 2.1398454688e+05f,
                                           2.1532992188e+05f, -6.0287050000e+05f, -3.3767190625e+05f});
        const float below = polynomial(x, {4.1351390839e+01f, 5.1246479492e+03f, 9.9775718750e+04f, 4.0892268750e+05f,
                                           3.3760150000e+05f, 1.0000000000e+00f});
        return mul(above, reciprocal_in_steps(below, 2));
    }
    if (to_bits(x) == kInfinityBits) return x;
    const float inverse = reciprocal_in_steps(x, 2), square = mul(inverse, inverse);
    const float rest = minus_product(0.0833333333f, square, 0.0083333333f);
    return minus_product(minus_product(cubic_logarithm(x), inverse, 0.5f), square, rest);
}

// A summand of at most 8 significant bits that is no constant of the unit is part of the instruction.
static bool is_immediate(float c) { return (to_bits(c) & 0xFFFFu) == 0 && c != 1.0f; }

// value * x^n, whose last product is added to `sum`. Blackhole squares, Wormhole multiplies n times.
static float plus_power(float sum, float value, float x, int32_t n) {
    if (!device.chip.blackhole) {
        for (; n > 1; --n) value = mul(value, x);
        return mad(value, x, sum);
    }
    for (;; x = mul(x, x)) {
        const bool last = n == 1;
        if (last) return mad(value, x, sum);
        if ((n & 1) != 0) value = mul(value, x);
        n >>= 1;
    }
}

// Of order n: six terms of the sum, then the rest by the series of Euler and Maclaurin.
float polygamma_function(float x, const Variant& v) {
    constexpr int32_t kTerms = 6;
    const int32_t n = static_cast<int32_t>(v.scalar[0]), steps = v.approximate ? 0 : v.wide ? 2 : 1;
    const float n1 = static_cast<float>(n + 1), n2 = static_cast<float>(n + 2), n3 = static_cast<float>(n + 3);
    const float n4 = static_cast<float>(n + 4), n5 = static_cast<float>(n + 5);
    float sum = 0.0f;
    for (int32_t k = 0; k < kTerms; ++k) {
        const float inverse = reciprocal_in_steps(add(x, static_cast<float>(k)), steps);
        sum = plus_power(sum, inverse, inverse, n);
    }
    const float inverse = reciprocal_in_steps(add(x, static_cast<float>(kTerms)), steps), square = mul(inverse, inverse);
    float series = n1 * n2 * n3 * n4 * n5 / 30240.0f;
    for (const float c : {-(n1 * n2 * n3) / 720.0f, n1 / 12.0f, 1.0f / static_cast<float>(n)}) {
        series = is_immediate(c) ? add(mul(series, square), c) : mad(series, square, c);
    }
    float rest = mad(inverse, 0.5f, series);
    if (!device.chip.blackhole) {
        float power = inverse;
        for (int32_t j = 1; j < n; ++j) power = mul(power, inverse);
        sum = mad(power, rest, sum);
    } else if (n < 2) {
        sum = mad(rest, inverse, sum);
    } else {
        if ((n & 1) != 0) rest = mul(rest, inverse);
        sum = plus_power(sum, rest, square, n >> 1);
    }
    return rounded(mul(sum, v.scalar[1]), v);
}

}  // namespace chip
}  // namespace vd
