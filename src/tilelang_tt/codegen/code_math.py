"""Functions of floats for scalar code: exp, log, sin, pow ... with the same bits on every machine.

The C library of a host and that of a chip round the last bit differently. These functions use sums, products, quotients
and square roots of doubles alone, which have one right result each, and round to a float at the end: nearly always the
nearest one. Functions of doubles are the C library's.
"""

from __future__ import annotations

_SERIES = """\
// c[0] + c[1] x + c[2] x^2 + ...
template <uint32_t count>
inline double series(const double (&c)[count], double x) {
    double sum = c[count - 1];
    for (uint32_t i = count - 1; i-- > 0;) sum = sum * x + c[i];
    return sum;
}"""

_EXP = """\
// e^x - 1 for x near 0, and e^x. What is beyond the range of floats stays beyond it.
inline double exp_less_one(double x) {
    constexpr double c[] = {1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
                            1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800};
    return x * series(c, x);
}
inline double exp_wide(double x) {
    if (x != x) return x;
    x = x > 700.0 ? 700.0 : x < -700.0 ? -700.0 : x;
    const int32_t twos = int32_t(x * 0x1.71547652b82fep+0 + (x < 0 ? -0.5 : 0.5));
    const double rest = x - twos * 0x1.62e42feep-1 - twos * 0x1.a39ef35793c76p-33;  // ln 2 in two parts
    return (1.0 + exp_less_one(rest)) * bits_as<double>(uint64_t(1023 + twos) << 52);
}
inline double expm1_wide(double x) { return x > -0.35 && x < 0.35 ? exp_less_one(x) : exp_wide(x) - 1.0; }"""

_LOG = """\
// log((1 + s) / (1 - s)) for s near 0, log x, and log(1 + x).
inline double log_ratio(double s) {
    constexpr double c[] = {2.0, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17};
    return s * series(c, s * s);
}
inline double log_wide(double x) {
    if (x == 0) return -__builtin_inf();
    if (!(x > 0)) return __builtin_nan("");
    if (x == __builtin_inf()) return x;
    const uint64_t bits = bits_as<uint64_t>(x), root = 0x3fe6a09e667f3bcd;  // of 1/2
    const int32_t twos = int32_t(int64_t(bits - root) >> 52);
    const double m = bits_as<double>(bits - (uint64_t(int64_t(twos)) << 52));
    return twos * 0x1.62e42fefa39efp-1 + log_ratio((m - 1.0) / (m + 1.0));
}
inline double log1p_wide(double x) { return x > -0.3 && x < 0.4 ? log_ratio(x / (2.0 + x)) : log_wide(1.0 + x); }"""

_POW = """\
inline float pow_of(float x, float y) {
    const double size = std::fabs(x), power = std::fabs(y), most = __builtin_inf();
    if (y == 0 || x == 1 || (size == 1 && power == most)) return 1.0f;
    if (x != x || y != y) return x + y;
    const bool small = power < 16777216.0;  // beyond that all floats are even numbers
    const bool odd = small && power == int32_t(power) && (int32_t(power) & 1);
    if (x < 0 && size != most && small && power != int32_t(power)) return __builtin_nanf("");
    const float found = float(exp_wide(y * log_wide(size)));
    return odd && std::signbit(x) ? -found : found;
}"""

_ANGLE = """\
// 32 bits of 2 / pi; the 64th is the first behind the point.
inline uint32_t two_over_pi(uint32_t first) {
    constexpr uint32_t words[] = {0,          0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                  0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
    const uint64_t both = uint64_t(words[first / 32]) << 32 | words[first / 32 + 1];
    return uint32_t(both << first % 32 >> 32);
}
// What is left of an angle without whole quarter turns, at most half of one, and how many those were.
struct Angle {
    double rest;
    uint32_t quarters;
};
inline Angle angle_of(float x) {
    const double size = std::fabs(x);
    if (!(size > 0.78)) return {x, 0};
    double rest;
    uint32_t quarters;
    if (size < 1e5) {
        quarters = uint32_t(size * 0x1.45f306dc9c883p-1 + 0.5);
        rest = size - quarters * 0x1.921fb544p+0 - quarters * 0x1.0b4611a626331p-34;  // pi / 2 in two parts
    } else if (size == __builtin_inf()) {
        return {__builtin_nan(""), 0};
    } else {  // times 2 / pi in whole numbers; its bits that make fours of quarters are left out
        const uint32_t bits = bits_as<uint32_t>(x) & 0x7fffffff, first = (bits >> 23) - 88;
        const uint64_t number = (bits & 0x7fffff) | 0x800000;
        const uint64_t high = number * two_over_pi(first), low = number * two_over_pi(first + 64);
        const uint64_t product = (high << 32) + number * two_over_pi(first + 32) + (low >> 32);
        quarters = uint32_t((product + (1ull << 61)) >> 62);
        rest = double(int64_t(product - (uint64_t(quarters) << 62))) * 0x1.921fb54442d18p-62;
    }
    return x < 0 ? Angle{-rest, 0 - quarters} : Angle{rest, quarters};
}
inline double sin_near(double x) {
    constexpr double c[] = {1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800};
    return x * series(c, x * x);
}
inline double cos_near(double x) {
    constexpr double c[] = {1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600};
    return series(c, x * x);
}
inline double sin_wide(Angle a) {
    const double found = a.quarters & 1 ? cos_near(a.rest) : sin_near(a.rest);
    return a.quarters & 2 ? -found : found;
}"""

_ATAN = """\
// The angle whose tangent is y / x, for y not below 0.
inline double atan_wide(double y, double x) {
    constexpr double pi = 0x1.921fb54442d18p+1, root = 0x1.bb67ae8584caap+0;  // of 3
    constexpr double c[] = {1.0,       -1.0 / 3, 1.0 / 5,   -1.0 / 7, 1.0 / 9,
                            -1.0 / 11, 1.0 / 13, -1.0 / 15, 1.0 / 17, -1.0 / 19};
    const double width = std::fabs(x);
    const bool steep = y > width, ends = y == __builtin_inf() && width == y;
    double t = ends ? 1.0 : y == 0 && width == 0 ? 0.0 : steep ? width / y : y / width;
    const bool far = t > 0.268;
    if (far) t = (t * root - 1.0) / (t + root);
    const double near = t * series(c, t * t), low = far ? near + pi / 6 : near;
    const double found = steep ? pi / 2 - low : low;
    return std::signbit(x) ? pi - found : found;
}"""

_ERF = """\
inline float erf_of(float x) {
    const double size = std::fabs(x), square = size * size;
    if (size > 4.0) return x < 0 ? -1.0f : 1.0f;
    double term = size, sum = size;
    for (uint32_t i = 3; term > sum * 1e-12; i += 2) sum += term *= 2 * square / i;
    const float found = float(sum * exp_wide(-square) * 0x1.20dd750429b6dp+0);  // 2 / sqrt(pi)
    return x != x ? x : std::signbit(x) ? -found : found;
}"""

_FMA = """\
// x * y + z, rounded once: the sum of doubles is made odd where it is not exact, which the last rounding cannot miss.
inline float fma_of(float x, float y, float z) {
    const double product = double(x) * y, sum = product + z;
    const double part = sum - product, lost = (product - (sum - part)) + (z - part);
    uint64_t bits = bits_as<uint64_t>(sum);
    if (lost != 0 && lost == lost && !(bits & 1)) bits += (lost > 0) == (sum > 0) ? 1 : -1;
    return float(bits_as<double>(bits));
}"""

_SQRT = """\
// The square root, digit by digit. That of the C library keeps an error number in data that a core has no room for.
inline double sqrt_wide(double x) {
    if (!(x > 0) || x == __builtin_inf()) return x < 0 ? __builtin_nan("") : x;
    const uint64_t bits = bits_as<uint64_t>(x), one = 1ull << 52;
    int32_t power = int32_t(bits >> 52) - 1023;
    uint64_t number = bits % one, root = 0, rest = 0;
    if (power != -1023) number += one;
    for (power += power == -1023; number < one; --power) number <<= 1;
    if (power & 1) number <<= 1;
    for (uint32_t i = 0; i < 54; ++i) {
        rest = rest << 2 | number >> 52;
        number = number % one << 2;
        root <<= 1;
        if (rest > 2 * root) {
            rest -= 2 * root + 1;
            ++root;
        }
    }
    return bits_as<double>((root + 1) / 2 + (uint64_t((power >> 1) + 1022) << 52));
}"""

_FMOD = """\
inline float fmod_of(float x, float y) {
    const double by = std::fabs(y);
    double rest = std::fabs(x), part = by;
    if (x != x || y != y || by == 0 || rest == __builtin_inf()) return __builtin_nanf("");
    while (part <= rest * 0.5) part *= 2.0;
    for (; part >= by && by < __builtin_inf(); part *= 0.5) {
        if (rest >= part) rest -= part;
    }
    return float(std::copysign(rest, x));
}"""

_ROOTS = """\
// sqrt((1 - x) (1 + x))
inline double other_side(double x) { return sqrt_wide((1.0 - x) * (1.0 + x)); }"""

_SINH = """\
inline float sinh_of(float x) {
    const double more = expm1_wide(std::fabs(x));
    return float(std::copysign((more + more / (more + 1.0)) * 0.5, x));
}
inline float tanh_of(float x) {
    const double more = expm1_wide(2.0 * std::fabs(x));
    return float(std::copysign(more / (more + 2.0), x));
}"""

_ASINH = """\
inline float asinh_of(float x) {
    const double size = std::fabs(x), square = size * size;
    if (!(size < __builtin_inf())) return x;
    return float(std::copysign(log1p_wide(size + square / (1.0 + sqrt_wide(square + 1.0))), x));
}
inline float acosh_of(float x) {
    const double more = x - 1.0;
    if (!(more >= 0)) return __builtin_nanf("");
    return float(log1p_wide(more + sqrt_wide(more * (more + 2.0))));
}
inline float atanh_of(float x) {
    const double size = std::fabs(x);
    return float(std::copysign(0.5 * log1p_wide(2.0 * size / (1.0 - size)), x));
}"""

_COS = """\
inline float cos_of(float x) {
    const Angle a = angle_of(x);
    return float(sin_wide({a.rest, a.quarters + 1}));
}
inline float tan_of(float x) {
    const Angle a = angle_of(x);
    return float(sin_wide(a) / sin_wide({a.rest, a.quarters + 1}));
}"""

_HYPOT = """\
inline float hypot_of(float x, float y) {
    if (std::isinf(x) || std::isinf(y)) return __builtin_inff();
    return float(sqrt_wide(double(x) * x + double(y) * y));
}"""


def _short(name: str, result: str, parameters: str = "float x") -> str:
    return f"inline float {name}_of({parameters}) {{ return float({result}); }}"


# Name -> (text, what it needs).
MATH: dict[str, tuple[str, tuple[str, ...]]] = {
    "series": (_SERIES, ()),
    "exp_wide": (_EXP, ("series", "bits_as")),
    "log_wide": (_LOG, ("series", "bits_as")),
    "angle_of": (_ANGLE, ("series", "bits_as")),
    "atan_wide": (_ATAN, ("series",)),
    "sqrt_wide": (_SQRT, ("bits_as",)),
    "other_side": (_ROOTS, ("sqrt_wide",)),
    "sqrt_of": (_short("sqrt", "sqrt_wide(x)"), ("sqrt_wide",)),
    "fmod_of": (_FMOD, ()),
    "exp_of": (_short("exp", "exp_wide(x)"), ("exp_wide",)),
    "exp2_of": (_short("exp2", "exp_wide(x * 0x1.62e42fefa39efp-1)"), ("exp_wide",)),
    "exp10_of": (_short("exp10", "exp_wide(x * 0x1.26bb1bbb55516p+1)"), ("exp_wide",)),
    "sigmoid_of": (_short("sigmoid", "1.0 / (1.0 + exp_wide(-x))"), ("exp_wide",)),
    "expm1_of": (_short("expm1", "expm1_wide(x)"), ("exp_wide",)),
    "sinh_of": (_SINH, ("exp_wide",)),
    "cosh_of": (_short("cosh", "(exp_wide(x) + exp_wide(-x)) * 0.5"), ("exp_wide",)),
    "log_of": (_short("log", "log_wide(x)"), ("log_wide",)),
    "log2_of": (_short("log2", "log_wide(x) * 0x1.71547652b82fep+0"), ("log_wide",)),
    "log10_of": (_short("log10", "log_wide(x) * 0x1.bcb7b1526e50ep-2"), ("log_wide",)),
    "log1p_of": (_short("log1p", "log1p_wide(x)"), ("log_wide",)),
    "asinh_of": (_ASINH, ("log_wide", "sqrt_wide")),
    "pow_of": (_POW, ("exp_wide", "log_wide")),
    "sin_of": (_short("sin", "sin_wide(angle_of(x))"), ("angle_of",)),
    "cos_of": (_COS, ("angle_of",)),
    "atan_of": (_short("atan", "std::copysign(atan_wide(std::fabs(x), 1.0), x)"), ("atan_wide",)),
    "atan2_of": (
        _short("atan2", "std::copysign(atan_wide(std::fabs(y), x), y)", "float y, float x"),
        ("atan_wide",),
    ),
    "asin_of": (
        _short("asin", "std::copysign(atan_wide(std::fabs(x), other_side(x)), x)"),
        ("atan_wide", "other_side"),
    ),
    "acos_of": (_short("acos", "atan_wide(other_side(x), x)"), ("atan_wide", "other_side")),
    "erf_of": (_ERF, ("exp_wide",)),
    "rsqrt_of": (_short("rsqrt", "1.0 / sqrt_wide(x)"), ("sqrt_wide",)),
    "hypot_of": (_HYPOT, ("sqrt_wide",)),
    "fma_of": (_FMA, ("bits_as",)),
}
MATH_ALIASES = {"tanh_of": "sinh_of", "acosh_of": "asinh_of", "atanh_of": "asinh_of", "tan_of": "cos_of"}
