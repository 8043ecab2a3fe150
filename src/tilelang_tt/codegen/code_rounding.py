"""Arithmetic that rounds as it is told to: T.ieee_add(x, y, "rz") and its kin, and x * y + z of doubles.

A result is computed in whole numbers with more bits than any type has, and rounded once.
"""

from __future__ import annotations

ROUNDINGS = {"rn": "round_nearest", "rz": "round_to_zero", "ru": "round_up", "rd": "round_down"}

_WIDE = """\
// bits * 2^exponent, without its sign. The highest bit is set, or all are zero; the lowest one is also set where
// something below it was left out.
struct Wide {
    bool negative;
    int32_t exponent;
    uint64_t bits;
};
constexpr uint32_t round_nearest = 0, round_to_zero = 1, round_up = 2, round_down = 3;
inline Wide wide_of(double x) {
    const uint64_t word = bits_as<uint64_t>(x), fraction = word & 0xfffffffffffff;
    const int32_t power = int32_t(word >> 52 & 0x7ff);
    const uint64_t bits = power ? fraction | 1ull << 52 : fraction;
    if (!bits) return {std::signbit(x), 0, 0};
    const int32_t shift = __builtin_clzll(bits);
    return {std::signbit(x), (power ? power : 1) - 1075 - shift, bits << shift};
}
template <typename F>
inline F rounded_to(Wide x, uint32_t how) {
    constexpr int32_t digits = sizeof(F) == 8 ? 53 : 24, least = sizeof(F) == 8 ? -1074 : -149;
    constexpr uint64_t infinite = sizeof(F) == 8 ? 0x7ffull << 52 : 0xffull << 23, half = 1ull << 63;
    if (!x.bits) return x.negative ? -F(0) : F(0);
    const int32_t below = least - x.exponent, shift = below > 64 - digits ? below : 64 - digits;
    const uint64_t kept = shift < 64 ? x.bits >> shift : 0;
    const uint64_t rest = shift < 64 ? x.bits << (64 - shift) : shift == 64 ? x.bits : 1;
    const bool away = how == (x.negative ? round_down : round_up);
    const bool nearest = how == round_nearest;
    const bool more = nearest ? rest > half || (rest == half && (kept & 1)) : away && rest;
    const int64_t power = int64_t(x.exponent) + shift - least;
    uint64_t word = infinite;
    if (power < 2048) word = kept + more + (uint64_t(power) << (digits - 1));
    if (word >= infinite) word = infinite - (nearest || away ? 0 : 1);
    F size;
    if constexpr (sizeof(F) == 8) {
        size = bits_as<F>(word);
    } else {
        size = bits_as<F>(uint32_t(word));
    }
    return x.negative ? -size : size;
}"""

_FMA = """\
struct Long {
    uint64_t high, low;
};
inline Long product_of(uint64_t x, uint64_t y) {
    const uint64_t a = x >> 32, b = uint32_t(x), c = y >> 32, d = uint32_t(y);
    const uint64_t middle = (b * d >> 32) + uint32_t(a * d) + uint32_t(b * c);
    return {a * c + (a * d >> 32) + (b * c >> 32) + (middle >> 32), middle << 32 | uint32_t(b * d)};
}
// Moved down; what falls out leaves the lowest bit set.
inline Long moved_down(Long x, int32_t by) {
    if (by == 0) return x;
    if (by >= 128) return {0, (x.high | x.low) != 0};
    if (by == 64) return {0, x.high | (x.low != 0)};
    if (by > 64) return {0, x.high >> (by - 64) | ((x.high << (128 - by) | x.low) != 0)};
    return {x.high >> by, x.high << (64 - by) | x.low >> by | (x.low << (64 - by) != 0)};
}
// x * y + z
template <typename F>
inline F ieee_fma(F x, F y, F z, uint32_t how) {
    if (!std::isfinite(x) || !std::isfinite(y)) return x * y + z;
    if (!std::isfinite(z)) return z;
    const Wide a = wide_of(x), b = wide_of(y), c = wide_of(z);
    const bool negative = a.negative != b.negative;
    const bool zero = how == round_down;  // what is exactly zero is -0 then
    if (!a.bits || !b.bits) {
        return rounded_to<F>(c.bits ? c : Wide{negative == c.negative ? negative : zero, 0, 0}, how);
    }
    Long left = moved_down(product_of(a.bits, b.bits), 1), right = moved_down({c.bits, 0}, 1);
    int32_t power = a.exponent + b.exponent + 1;
    const int32_t apart = c.bits ? c.exponent - 63 - power : 0;
    if (apart > 0) left = moved_down(left, apart);
    if (apart < 0) right = moved_down(right, -apart);
    if (apart > 0) power += apart;
    bool below = negative;
    if (negative == c.negative) {
        left.low += right.low;
        left.high += right.high + (left.low < right.low);
    } else {
        if (left.high < right.high || (left.high == right.high && left.low < right.low)) {
            const Long less = left;
            left = right;
            right = less;
            below = c.negative;
        }
        left.high -= right.high + (left.low < right.low);
        left.low -= right.low;
    }
    if (!left.high && !left.low) return rounded_to<F>({zero, 0, 0}, how);
    for (; !(left.high >> 63); --power) left = {left.high << 1 | left.low >> 63, left.low << 1};
    return rounded_to<F>({below, power + 64, left.high | (left.low != 0)}, how);
}
template <typename F>
inline F ieee_add(F x, F y, uint32_t how) { return ieee_fma(x, F(1), y, how); }
template <typename F>
inline F ieee_sub(F x, F y, uint32_t how) { return ieee_fma(x, F(1), -y, how); }
template <typename F>
inline F ieee_mul(F x, F y, uint32_t how) { return ieee_fma(x, y, std::copysign(F(0), x * y), how); }"""

_DIV = """\
template <typename F>
inline F ieee_div(F x, F y, uint32_t how) {
    if (!std::isfinite(x) || !std::isfinite(y) || x == 0 || y == 0) return x / y;
    const Wide a = wide_of(x), b = wide_of(y);
    uint64_t left = a.bits >> 11, found = 0;
    for (uint32_t i = 0; i < 64; ++i) {
        const bool fits = left >= b.bits >> 11;
        found = found << 1 | fits;
        left = (fits ? left - (b.bits >> 11) : left) << 1;
    }
    const bool small = !(found >> 63);
    return rounded_to<F>({a.negative != b.negative, a.exponent - b.exponent - 63 - small, found << small | (left != 0)},
                         how);
}
template <typename F>
inline F ieee_reciprocal(F x, uint32_t how) { return ieee_div(F(1), x, how); }"""

_SQRT = """\
template <typename F>
inline F ieee_sqrt(F x, uint32_t how) {
    if (!(x > 0) || !std::isfinite(x)) return x < 0 ? F(__builtin_nan("")) : x;
    const Wide a = wide_of(x);
    const bool odd = a.exponent & 1;
    const uint64_t bits = a.bits >> (odd ? 11 : 10);  // at most 54, of which each step takes two
    uint64_t rest = 0, root = 0;
    for (int32_t i = 52; i > -60; i -= 2) {
        rest = rest << 2 | (i >= 0 ? bits >> i & 3 : 0);
        const uint64_t trial = root << 2 | 1;
        root = root << 1 | (rest >= trial);
        if (rest >= trial) rest -= trial;
    }
    const int32_t power = a.exponent + (odd ? 11 : 10);
    const int32_t shift = __builtin_clzll(root);
    return rounded_to<F>({false, (power - 58) / 2 - shift, root << shift | (rest != 0)}, how);
}"""

# Name -> (text, what it needs).
ROUNDED: dict[str, tuple[str, tuple[str, ...]]] = {
    "rounded_to": (_WIDE, ("bits_as",)),
    "ieee_fma": (_FMA, ("rounded_to",)),
    "ieee_div": (_DIV, ("rounded_to",)),
    "ieee_sqrt": (_SQRT, ("rounded_to",)),
}
ROUNDED_ALIASES = {
    **{f"ieee_{op}": "ieee_fma" for op in ("add", "sub", "mul")},
    "ieee_reciprocal": "ieee_div",
}
