// Rows of products for whole tiles in AVX-512: the bits of `multiply_row` in chip_lane.h in less time (half of it for one
// thread alone, 0.8 where two share a core), for operands whose products are all large enough to be kept.
//
// A product of parts a * b, s binades below the largest of its eight, counts round(a * b / 2^s), ties away from zero. That
// is one multiplication which keeps the upper half, mulhrs(x, y) = (x * y + 2^14) >> 15, of x = a * 2^(9 - s) and
// y = 64 * b: the product ends up 2^15 too large. Ties would go upwards; y is therefore one too large in magnitude, which adds
// |x| < 2^(14 - s): too little to reach the next tie from anywhere else, enough to move a negative tie away from zero.
// s ends at 9 for x to be whole. Products 10 to 12 binades down ("far", rare) are added apart; lower ones round to 0.
#pragma once

#include <immintrin.h>

#include "chip_lane.h"

namespace vd {
namespace chip {

typedef int16_t Lanes16 __attribute__((vector_size(64)));  // a row of 32 results
typedef int32_t Lanes32 __attribute__((vector_size(64)));  // half a row
typedef uint32_t Words32 __attribute__((vector_size(64)));
typedef float Floats __attribute__((vector_size(64)));
typedef int16_t Half16 __attribute__((vector_size(32)));

constexpr int kNear = 9, kFar = 12;  // binades below the largest product
constexpr int kWide = 32;            // side of a tile, and lanes of a row
constexpr int kGroup = 8, kGroups = kWide / kGroup;

template <typename V, typename P>
inline V load_lanes(const P* at) {
    V value;
    std::memcpy(&value, at, sizeof value);
    return value;
}
template <typename V, typename P>
inline void store_lanes(P* at, const V& value) {
    std::memcpy(at, &value, sizeof value);
}
inline Lanes16 all16(int32_t value) { return Lanes16{} + static_cast<int16_t>(value); }

// What vector extensions cannot say, or not well. Shifts take any count: too large a one leaves nothing.
inline Lanes16 shift_up(Lanes16 x, Lanes16 by) { return (Lanes16)_mm512_sllv_epi16((__m512i)x, (__m512i)by); }
inline Lanes32 shift_down(Lanes32 x, Lanes32 by) { return (Lanes32)_mm512_srav_epi32((__m512i)x, (__m512i)by); }
inline Lanes16 upper_half(Lanes16 x, Lanes16 y) { return (Lanes16)_mm512_mulhrs_epi16((__m512i)x, (__m512i)y); }
inline Lanes16 larger_of(Lanes16 x, Lanes16 y) { return (Lanes16)_mm512_max_epi16((__m512i)x, (__m512i)y); }
inline Lanes32 larger_of(Lanes32 x, Lanes32 y) { return (Lanes32)_mm512_max_epi32((__m512i)x, (__m512i)y); }
inline bool any_between(Lanes16 x, int32_t low, int32_t high) {
    const __m512i from_low = _mm512_sub_epi16((__m512i)x, (__m512i)all16(low));
    return _mm512_cmplt_epu16_mask(from_low, (__m512i)all16(high - low)) != 0;
}
inline Lanes32 widened(Half16 x) { return (Lanes32)_mm512_cvtepi16_epi32((__m256i)x); }

// x / 2^by with ties upwards, of twice x.
inline Lanes32 rounded_down(Lanes32 twice, Lanes32 by) { return (shift_down(twice, by) + 1) >> 1; }

// `accumulate` of chip_lane.h for half a row. Exponents count from `step` on, so that `first_exponent` and
// `second_exponent` are those of the whole operands, and `top` is the larger of the two.
template <bool k32Bit, bool kSlips>
inline Words32 accumulate_lanes(Words32 dst, Lanes32 first, Lanes32 first_exponent, Lanes32 second,
                                Lanes32 second_exponent, Lanes32 top, int32_t step) {
    constexpr int32_t kFraction = k32Bit ? 23 : kSumFraction;
    const Lanes32 field = (Lanes32)((dst << 1) >> 24);
    // A zero looks like 2^-127 here: next to products of this size that is nothing, and by itself it leaves nothing.
    const Lanes32 dst_exponent = field + (step - 127);
    const Lanes32 exponent = larger_of(dst_exponent, top);
    const Lanes32 whole = (Lanes32)((dst & 0x7FFFFFu) | 0x800000u) << 1;
    const Lanes32 size_of_dst = rounded_down(whole, exponent - dst_exponent + (23 - kFraction));
    const Lanes32 sign_of_dst = (Lanes32)dst >> 31;
    Lanes32 sum = (size_of_dst ^ sign_of_dst) - sign_of_dst;
    constexpr int32_t kTwice = kFraction - kSumFraction + 1;
    sum += rounded_down(first << kTwice, exponent - first_exponent);
    sum += rounded_down(second << kTwice, exponent - second_exponent);

    const Lanes32 size = (sum < 0) ? -sum : sum;
    Words32 bits;
    if (k32Bit) {  // a float of 24 bits, nearest: one bit below them makes ties go up, where there are bits below
        const Lanes32 doubled = size + size;
        const Lanes32 apart = (size >= (1 << 24)) ? doubled + 1 : doubled;
        bits = load_lanes<Words32>(&static_cast<const Floats&>(__builtin_convertvector(apart, Floats)));
    } else {
        const Floats exact = __builtin_convertvector(size, Floats);
        bits = (load_lanes<Words32>(&exact) + 0x8000u) & 0xFFFF0000u;
    }
    Lanes32 result = (Lanes32)(bits >> 23) + exponent - (kFraction + (k32Bit ? 1 : 0) + step);
    if (kSlips) result = (sum == -1) ? result + slip_of_chip() : result;
    const Words32 sign = (Words32)sum & 0x80000000u;
    const Words32 finite = ((Words32)result << 23) | (bits & 0x7FFFFFu);
    const Words32 normal = (result > 254) ? Words32{} + 0x7F800000u : finite;
    const Lanes32 something = (sum != 0) & (result > 0);
    return something ? (sign | normal) : Words32{};
}

struct RightTile {  // SrcA: row k of 32 lanes
    Lanes16 part[2][kWide];
    Lanes16 exponent[kWide];
};
struct LeftLine {  // SrcB: a row of 32 values
    int16_t part[2][kWide];    // times 2^kRoom
    int16_t factor[2][kWide];  // times 64, one more in magnitude
    int16_t exponent[kWide];
};

// Products of the row, aligned to the largest of their eight.
struct AlignedRow {
    Lanes16 part[2][kWide];  // a * 2^(9 - s)
    Lanes16 largest[kGroups];
    int far_count;
    uint8_t far[kWide + 1];     // k of far products
    Lanes16 far_scale[kWide];  // 2^(12 - s) where the product is far
};

inline void align(AlignedRow& row, const LeftLine& left, const RightTile& right) {
    row.far_count = 0;
    for (int group = 0; group < kGroups; ++group) {
        const int first = group * kGroup;
        Lanes16 largest = right.exponent[first] + all16(left.exponent[first]);
        for (int k = first + 1; k < first + kGroup; ++k) {
            largest = larger_of(largest, right.exponent[k] + all16(left.exponent[k]));
        }
        row.largest[group] = largest;
        const Lanes16 below = kNear - largest;
        for (int k = first; k < first + kGroup; ++k) {
            const Lanes16 up = right.exponent[k] + all16(left.exponent[k]) + below;
            row.part[0][k] = shift_up(right.part[0][k], up);
            row.part[1][k] = shift_up(right.part[1][k], up);
            if (any_between(up, kNear - kFar, 0)) {
                row.far[row.far_count] = static_cast<uint8_t>(k);
                const Lanes16 is_far = (up < 0);
                row.far_scale[row.far_count++] = shift_up(all16(1), up + (kFar - kNear)) & is_far;
            }
        }
    }
}

inline Lanes16 near_products(const AlignedRow& row, const LeftLine& left, int group, int32_t phase) {
    const auto& a = row.part[srca_low(phase)];
    const auto& b = left.factor[srcb_low(phase)];
    Lanes16 even = {}, odd = {};
    for (int k = group * kGroup; k < (group + 1) * kGroup; k += 2) {
        even += upper_half(a[k], all16(b[k]));
        odd += upper_half(a[k + 1], all16(b[k + 1]));
    }
    return even + odd;
}

inline Lanes16 far_product(Lanes16 a, int16_t b, Lanes16 scale) {
    Lanes16 product = a * b;
    product += product >> 15;  // a hair below a negative tie
    return upper_half(product, scale);
}

inline Lanes32 half_row(const Lanes16& lanes, int half) {
    return widened(load_lanes<Half16>(reinterpret_cast<const int16_t*>(&lanes) + half * 16));
}

// kRows rows at a time: their sums do not wait for each other.
template <bool k32Bit, bool kSlips, int kRows>
inline void multiply_lines(uint32_t (*dst)[kWide], const LeftLine* left, const RightTile& right, int32_t phases) {
    AlignedRow rows[kRows];
    Lanes32 exponent[kGroups][kRows][2], top[kGroups / 2][kRows][2];
    Words32 sums[kRows][2];
    for (int row = 0; row < kRows; ++row) {
        align(rows[row], left[row], right);
        for (int half = 0; half < 2; ++half) {
            sums[row][half] = load_lanes<Words32>(dst[row] + half * 16);
            for (int group = 0; group < kGroups; ++group) {
                exponent[group][row][half] = half_row(rows[row].largest[group], half);
            }
            for (int pair = 0; pair < kGroups / 2; ++pair) {
                top[pair][row][half] = larger_of(exponent[2 * pair][row][half], exponent[2 * pair + 1][row][half]);
            }
        }
    }
    for (int32_t phase = 0; phase < phases; ++phase) {
        Lanes16 products[kGroups][kRows];
        for (int row = 0; row < kRows; ++row) {
            for (int group = 0; group < kGroups; ++group) {
                products[group][row] = near_products(rows[row], left[row], group, phase);
            }
            for (int i = 0; i < rows[row].far_count; ++i) {
                const int k = rows[row].far[i];
                products[k / kGroup][row] += far_product(right.part[srca_low(phase)][k],
                                                         left[row].part[srcb_low(phase)][k], rows[row].far_scale[i]);
            }
        }
        for (int pair = 0; pair < kGroups / 2; ++pair) {
            for (int row = 0; row < kRows; ++row) {
                for (int half = 0; half < 2; ++half) {
                    sums[row][half] = accumulate_lanes<k32Bit, kSlips>(
                        sums[row][half], half_row(products[2 * pair][row], half), exponent[2 * pair][row][half],
                        half_row(products[2 * pair + 1][row], half), exponent[2 * pair + 1][row][half],
                        top[pair][row][half], phase_step(phase));
                }
            }
        }
    }
    for (int row = 0; row < kRows; ++row) {
        store_lanes(dst[row], sums[row][0]);
        store_lanes(dst[row] + 16, sums[row][1]);
    }
}

}  // namespace chip
}  // namespace vd
