// The vector unit's multiply-add, bit by bit: almost a fused one.
//
// The product keeps three bits below those of an fp32 number, the last of them set when anything below it was. It is not
// normalised: the sum of the exponents alone decides whether it is too small to count or infinite. Product and summand are
// aligned to the larger exponent; what is shifted out sets the last bit, unless nothing of the number is left. So a
// summand that cancels the product does not bring up the product's low half, as it would in a fused multiply-add. The sum is
// rounded to nearest even; denormals are zero on the way in and out. The chips differ in NaNs and in the signs of zeros.
#pragma once

#include <cstdint>
#include <cstring>

#include "machine.h"

namespace vd {
namespace chip {

inline uint32_t to_bits(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline float from_bits(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

constexpr uint32_t kSign = 0x80000000u, kInfinityBits = 0x7F800000u, kFractionBits = 0x7FFFFFu;
constexpr uint32_t kBlackholeNan = 0x7FC00000u, kWormholeNan = 0x7F800001u;
constexpr int32_t kTopExponent = 255;  // infinities and NaNs
constexpr int32_t kGuardBits = 3, kLeadingBit = 23 + kGuardBits;

// Size: the significand with its guard bits, 0 for zeros and denormals.
struct Term {
    uint32_t sign;
    int32_t exponent;
    uint32_t size;

    bool is_top() const { return exponent >= kTopExponent; }
    bool is_infinite() const { return is_top() && size == 1u << kLeadingBit; }
    bool is_nan() const { return is_top() && !is_infinite(); }
};

inline Term term_of(uint32_t bits) {
    const int32_t exponent = static_cast<int32_t>((bits >> 23) & 255u);
    return {bits & kSign, exponent, exponent == 0 ? 0u : ((bits & kFractionBits) | 0x800000u) << kGuardBits};
}

inline Term product_of(const Term& a, const Term& b) {
    const uint64_t exact = static_cast<uint64_t>(a.size) * b.size;  // twice the guard bits, 23 fraction bits too many
    constexpr int32_t kDrop = 23 + kGuardBits;
    const uint32_t sticky = (exact & ((uint64_t{1} << kDrop) - 1)) != 0;
    return {a.sign ^ b.sign, a.exponent + b.exponent - 127, static_cast<uint32_t>(exact >> kDrop) | sticky};
}

inline uint32_t aligned(const Term& term, int32_t exponent) {
    const int32_t by = exponent - term.exponent;
    if (by > 31) return 0;
    const uint32_t kept = term.size >> by;
    return kept == 0 ? 0 : kept | static_cast<uint32_t>((kept << by) != term.size);
}

// The NaN of a * b + c, or 0. Only Wormhole's have signs, and for it a product that overflows is as good as infinite.
inline uint32_t nan_of(const Term& a, const Term& b, const Term& product, const Term& c, bool blackhole) {
    const bool top = a.is_top() || b.is_top() || (!blackhole && product.is_top());
    const bool no_product = a.is_nan() || b.is_nan() || (a.is_top() && b.size == 0) || (b.is_top() && a.size == 0);
    const bool cancels = c.is_infinite() && top && c.sign != product.sign;
    if (!no_product && !cancels && !c.is_nan()) return 0;
    if (blackhole) return kBlackholeNan;
    return kWormholeNan | (no_product || cancels ? product.sign : c.sign);
}

inline float mad(float x, float y, float z) {
    const bool blackhole = device.chip.blackhole;
    const Term a = term_of(to_bits(x)), b = term_of(to_bits(y)), c = term_of(to_bits(z));
    Term product = product_of(a, b);
    uint32_t nan = 0;
    if (a.is_top() || b.is_top() || product.is_top() || c.is_top()) {
        nan = nan_of(a, b, product, c, blackhole);
        if (nan == 0) return c.is_top() ? z : from_bits(product.sign | kInfinityBits);
        if (blackhole) return from_bits(nan);
        if (product.exponent > kTopExponent) product.exponent = kTopExponent;
    }
    // Wormhole goes on with a NaN: the bits of the sum get into it.
    const uint32_t zero = nan != 0 ? nan : blackhole ? product.sign & c.sign : 0;
    if (product.size == 0 || product.exponent < 0) {
        if (nan == 0) return c.size != 0 ? z : from_bits(zero);
        product.size = 0, product.exponent = 0;
    }
    int32_t exponent = product.exponent > c.exponent ? product.exponent : c.exponent;
    const uint32_t left = aligned(product, exponent), right = aligned(c, exponent);
    const uint32_t sign = left >= right ? product.sign : c.sign;
    uint32_t sum = product.sign == c.sign ? left + right : left >= right ? left - right : right - left;
    if (sum == 0) return from_bits(zero);

    int32_t down = 31 - __builtin_clz(sum) - kLeadingBit;
    exponent += down;
    if (exponent >= kTopExponent) return from_bits(nan != 0 ? nan : sign | kInfinityBits);
    if (!blackhole && exponent < 0) return from_bits(nan);
    if (blackhole && exponent <= 0) ++down, exponent = 0;
    if (down <= 0) {
        sum <<= -down;
    } else {  // Wormhole looks at one bit only of the two that may fall out
        const uint32_t fallen = sum & (blackhole && down > 1 ? 3u : 1u);
        sum = (sum >> down) | static_cast<uint32_t>(fallen != 0);
    }
    uint32_t bits = (static_cast<uint32_t>(exponent) << 23) + ((sum >> kGuardBits) & kFractionBits);
    bits += (sum & 7u) + (bits & 1u) > 4u;
    if (bits >> 23 == 0) return from_bits(blackhole ? sign : nan);
    return from_bits((nan != 0 ? nan : sign) | bits);
}

}  // namespace chip
}  // namespace vd
