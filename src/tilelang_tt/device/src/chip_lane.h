// One number of the matrix engine, written so that the compiler makes vectors of it.
//
// A source register holds a sign, an exponent and a fraction of up to 10 bits; exponent 255 is an ordinary binade (there
// is no NaN and no infinity on the way in) and exponent 0 is zero. The multiplier takes 5 bits of SrcA and 7 bits of SrcB
// at a time: its four combinations are the fidelity phases. Sums are kept in fixed point below the largest exponent.
#pragma once

#include <cstdint>
#include <cstring>

#include "machine.h"
#include "numerics.h"

namespace vd {
namespace chip {

constexpr int32_t kNone = -2000;       // exponent of a zero: below anything that could be aligned to it
constexpr int32_t kSmallest = -126;    // products below this exponent are dropped
constexpr int32_t kSumFraction = 10;   // fraction bits of a sum of products
constexpr int32_t kSrcaLowStep = 5, kSrcbLowStep = 7;  // how far the low part of an operand lies below the high part

constexpr int32_t phases_of(Fidelity fidelity) { return static_cast<int32_t>(fidelity) + 1; }
constexpr bool srca_low(int32_t phase) { return (phase & 1) != 0; }
constexpr bool srcb_low(int32_t phase) { return (phase >> 1) != 0; }
constexpr int32_t phase_step(int32_t phase) {
    return (srca_low(phase) ? kSrcaLowStep : 0) + (srcb_low(phase) ? kSrcbLowStep : 0);
}

inline uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline float float_of(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline int32_t exponent_of(uint32_t bits) {
    const int32_t field = static_cast<int32_t>((bits >> 23) & 255u);
    return field == 0 ? kNone : field - 127;
}
inline int32_t with_sign(uint32_t bits, int32_t magnitude) { return (bits >> 31) != 0 ? -magnitude : magnitude; }
// Leading one and 10 fraction bits; 0 for a zero.
inline int32_t significand(uint32_t bits) {
    return (bits & 0x7F800000u) == 0 ? 0 : static_cast<int32_t>(((bits >> 13) & 0x3FFu) | 0x400u);
}
// Operand parts as signed integers. SrcA: 5 + 5 bits, its tenth fraction bit is never used. SrcB: 7 + 4 bits, the low
// ones in the upper places of 7. A product of two parts counts in units of 2^(product exponent - 10).
inline int32_t srca_part(uint32_t bits, bool low) {
    const int32_t all = significand(bits);
    return with_sign(bits, low ? (all >> 1) & 31 : all >> 6);
}
inline int32_t srcb_part(uint32_t bits, bool low) {
    const int32_t all = significand(bits);
    return with_sign(bits, low ? (all & 15) << 3 : all >> 4);
}

inline int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
inline int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

// x / 2^shift, ties upwards / for magnitudes. Shifts beyond the width of the numbers here leave nothing.
inline int32_t shift_half_up(int32_t x, int32_t shift) {
    const int32_t by = smaller(shift, 31);
    return (x + static_cast<int32_t>((1u << by) >> 1)) >> by;
}

// Wormhole's normaliser takes a sum of exactly minus one unit of a 32-bit DST, whose bits are all sign, for a number that
// many binades larger: a rare, isolated error of the chip, not of the kernel.
inline int32_t slip_of_chip() { return device.chip.blackhole ? 0 : 27; }

// DST + first + second, where a term counts in units of 2^(exponent - 10): aligned to the largest exponent with 10 or 23
// fraction bits, DST with ties away from zero, terms with ties upwards; the sum enters DST with ties away from zero.
// Beyond the largest number is infinity, below the smallest normal number is +0. `slip` is what `slip_of_chip` says.
template <bool k32Bit>
inline uint32_t accumulate(uint32_t dst, int32_t first, int32_t first_exponent, int32_t second,
                           int32_t second_exponent, int32_t slip) {
    constexpr int32_t kFraction = k32Bit ? 23 : kSumFraction, kStored = k32Bit ? 23 : 7;
    const int32_t dst_exponent = exponent_of(dst);
    const int32_t exponent = larger(dst_exponent, larger(first_exponent, second_exponent));
    const int32_t magnitude = dst_exponent == kNone ? 0 : static_cast<int32_t>((dst & 0x7FFFFFu) | 0x800000u);
    int32_t sum = with_sign(dst, shift_half_up(magnitude, exponent - dst_exponent + 23 - kFraction));
    sum += shift_half_up(first * (1 << (kFraction - kSumFraction)), exponent - first_exponent);
    sum += shift_half_up(second * (1 << (kFraction - kSumFraction)), exponent - second_exponent);

    const uint32_t size = static_cast<uint32_t>(sum < 0 ? -sum : sum);
    // Position of the leading one: the exponent of a float that cannot round up to the next power of two.
    const uint32_t leading = bits_of(static_cast<float>(static_cast<int32_t>(size & ~(size >> 1))));
    const int32_t top = static_cast<int32_t>(leading >> 23) - 127;
    const int32_t down = larger(top - kStored, 0), up = smaller(larger(kStored - top, 0), 31);
    const uint32_t rounded = ((size << up) + ((1u << down) >> 1)) >> down;
    const uint32_t carry = rounded >> (kStored + 1);
    const int32_t slipped = k32Bit && sum == -1 ? slip : 0;
    const int32_t field = exponent - kFraction + top + 127 + static_cast<int32_t>(carry) + slipped;
    const uint32_t fraction = carry != 0 ? 0u : (rounded & ((1u << kStored) - 1u)) << (23 - kStored);
    const uint32_t normal = field >= 255 ? 0x7F800000u : (static_cast<uint32_t>(field) << 23) | fraction;
    const uint32_t sign = sum < 0 ? 0x80000000u : 0u;
    return size == 0 || field <= 0 ? 0u : sign | normal;
}

// ---- rows of products: kDepth values of SrcB times kDepth rows of SrcA, kLanes results ----------------

// Low and high parts are at most 12 bits wide as products, so three more fit into 16 bits.
constexpr int32_t kRoom = 3;

template <int kDepth>
struct LeftRow {  // SrcB
    int16_t part[2][kDepth];  // times 2^kRoom
    int16_t exponent[kDepth];
};

template <int kDepth, int kLanes>
struct RightRows {  // SrcA
    alignas(64) int16_t part[2][kDepth][kLanes];
    alignas(64) int16_t exponent[kDepth][kLanes];
};

template <int kDepth>
inline void set_left(LeftRow<kDepth>& left, int k, uint32_t bits) {
    left.part[0][k] = static_cast<int16_t>(srcb_part(bits, false) * (1 << kRoom));
    left.part[1][k] = static_cast<int16_t>(srcb_part(bits, true) * (1 << kRoom));
    left.exponent[k] = static_cast<int16_t>(exponent_of(bits));
}

template <int kDepth, int kLanes>
inline void set_right(RightRows<kDepth, kLanes>& right, int k, int lane, uint32_t bits) {
    right.part[0][k][lane] = static_cast<int16_t>(srca_part(bits, false));
    right.part[1][k][lane] = static_cast<int16_t>(srca_part(bits, true));
    right.exponent[k][lane] = static_cast<int16_t>(exponent_of(bits));
}

// dst[lane] += sum over k of left[k] * right[k][lane]. Eight products at a time are aligned to the largest product
// exponent among them and rounded to 10 fraction bits, ties away from zero; DST takes two such sums at a time. All
// depths of one fidelity phase come before the next phase. kTiny: some products may be small enough to be dropped.
template <bool k32Bit, bool kTiny, int kDepth, int kLanes>
inline void multiply_row(uint32_t* dst, const LeftRow<kDepth>& left, const RightRows<kDepth, kLanes>& right,
                         int32_t phases) {
    constexpr int kGroup = 8, kGroups = kDepth / kGroup;
    alignas(64) int16_t product_exponent[kDepth][kLanes], scale[kDepth][kLanes], largest[kGroups][kLanes];
    for (int group = 0; group < kGroups; ++group) {
        for (int lane = 0; lane < kLanes; ++lane) largest[group][lane] = 2 * kNone;
        for (int k = group * kGroup; k < (group + 1) * kGroup; ++k) {
            for (int lane = 0; lane < kLanes; ++lane) {
                const int16_t e = static_cast<int16_t>(right.exponent[k][lane] + left.exponent[k]);
                product_exponent[k][lane] = e;
                largest[group][lane] = largest[group][lane] > e ? largest[group][lane] : e;
            }
        }
        for (int k = group * kGroup; k < (group + 1) * kGroup; ++k) {
            for (int lane = 0; lane < kLanes; ++lane) {
                const int16_t shift = static_cast<int16_t>(largest[group][lane] - product_exponent[k][lane]);
                const int16_t by = shift < 15 ? shift : int16_t{15};
                // 2^(15 - kRoom - by), or 0: a float's exponent, as few processors shift 16-bit lanes by different counts.
                const uint32_t field = static_cast<uint32_t>(127 + 15 - kRoom - by) << 23;
                scale[k][lane] = static_cast<int16_t>(static_cast<int32_t>(float_of(field)));
            }
        }
    }
    const int32_t slip = slip_of_chip();
    for (int32_t phase = 0; phase < phases; ++phase) {
        const auto& a = right.part[srca_low(phase)];
        const auto& b = left.part[srcb_low(phase)];
        const int32_t step = phase_step(phase);
        alignas(64) int16_t sum[kGroups][kLanes];
        for (int group = 0; group < kGroups; ++group) {
            for (int lane = 0; lane < kLanes; ++lane) sum[group][lane] = 0;
            for (int k = group * kGroup; k < (group + 1) * kGroup; ++k) {
                for (int lane = 0; lane < kLanes; ++lane) {
                    int16_t product = static_cast<int16_t>(a[k][lane] * b[k]);
                    if (kTiny && product_exponent[k][lane] - step < kSmallest) product = 0;
                    // A hair below a negative tie, so that rounding upwards takes it away from zero.
                    product = static_cast<int16_t>(product + (product >> 15));
                    const int16_t aligned = static_cast<int16_t>((((product * scale[k][lane]) >> 14) + 1) >> 1);
                    sum[group][lane] = static_cast<int16_t>(sum[group][lane] + aligned);
                }
            }
        }
        for (int group = 0; group < kGroups; group += 2) {
            for (int lane = 0; lane < kLanes; ++lane) {
                const int32_t e0 = largest[group][lane] - step, e1 = largest[group + 1][lane] - step;
                dst[lane] = accumulate<k32Bit>(dst[lane], sum[group][lane], e0 < kSmallest ? kNone : e0,
                                               sum[group + 1][lane], e1 < kSmallest ? kNone : e1, slip);
            }
        }
    }
}

}  // namespace chip
}  // namespace vd
