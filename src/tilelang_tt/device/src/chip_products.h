// Rows of products for whole tiles in AVX-512: the bits of `multiply_row` in chip_lane.h in a fraction of its time, for
// operands and sums that are neither tiny nor huge (`is_ordinary` in chip_matmul.cpp).
//
// Everything is rounded by additions. `1.5 * 2^23` units plus a number is that number rounded to whole units, because a
// float of this size has no smaller bits. A product of operand parts is exact inside a multiply-add, so one instruction
// multiplies, aligns to the largest product of its eight, rounds and adds. That rounds ties to even. Where the chip takes
// them away from zero, one factor is a hair too large: kHair moves a product off its tie, and too little to reach another.
// Terms that the chip rounds with ties upwards get half a unit and are rounded down.
#pragma once

#include <immintrin.h>

#include "chip_lane.h"

namespace vd {
namespace chip {

typedef int16_t Lanes16 __attribute__((vector_size(64)));  // a row of 32 results
typedef int32_t Lanes32 __attribute__((vector_size(64)));  // half a row
typedef uint32_t Words32 __attribute__((vector_size(64)));
typedef float Floats __attribute__((vector_size(64)));

constexpr int kWide = 32;  // side of a tile, and lanes of a row
constexpr int kGroup = 8, kGroups = kWide / kGroup, kPairs = kGroups / 2;
constexpr float kHair = 1.0f + 0x1p-13f;  // products have 12 bits, a 16-bit DST fewer
constexpr int32_t kBias = 127;            // of a float's exponent
// Exponent of a group of zeros. Other products of any phase are larger, and so is DST or its bits are (`is_ordinary`):
// what is aligned to this one in the last phase, 12 binades lower, is changed by nothing.
constexpr int32_t kLeast = -92;

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
// Read once: the compiler would read it again for each use.
inline Floats in_register(const float* at) {
    Floats value = load_lanes<Floats>(at);
    __asm__("" : "+v"(value));
    return value;
}
inline Floats all(float value) { return (Floats)_mm512_set1_ps(value); }
inline Lanes32 larger_of(Lanes32 x, Lanes32 y) { return (Lanes32)_mm512_max_epi32((__m512i)x, (__m512i)y); }
inline Lanes16 larger_of(Lanes16 x, Lanes16 y) { return (Lanes16)_mm512_max_epi16((__m512i)x, (__m512i)y); }

// One rounding each: to the nearest, ties to even; down; towards zero.
constexpr int kDown = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC, kToZero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
inline Floats multiply_add(Floats a, Floats b, Floats c) {
    return (Floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
template <int kMode>
inline Floats multiply_add(Floats a, Floats b, Floats c) {
    return (Floats)_mm512_fmadd_round_ps((__m512)a, (__m512)b, (__m512)c, kMode);
}
inline Floats add_down(Floats a, Floats b) { return (Floats)_mm512_add_round_ps((__m512)a, (__m512)b, kDown); }
template <int kMode>
inline Lanes32 whole(Floats x) {
    return (Lanes32)_mm512_cvt_roundps_epi32((__m512)x, kMode);
}
inline Floats with_sign_of(Floats magnitude, Words32 signs) {
    return (Floats)((Words32)magnitude | (signs & 0x80000000u));
}

struct RightTile {  // SrcA: row k of 32 lanes
    alignas(64) float part[2][kWide][kWide];
    alignas(64) int16_t exponent[kWide][kWide];
};
struct LeftTile {  // SrcB: rows of 32 values, a hair too large
    alignas(64) float part[2][kWide][kWide];
    alignas(64) uint32_t exponent[kWide][kWide];  // twice in 16 bits
};

// Of kRows rows: what a phase adds to DST, and how large it may be.
template <int kRows>
struct Sums {
    Floats sum[4][kGroups][kRows][2];  // by phase
    Words32 largest[kGroups][kRows][2];  // 2^exponent of the largest product in the first phase, as a float's bits
};

// The same in another phase.
inline Words32 in_phase(Words32 largest, int32_t phase) {
    return largest - (static_cast<uint32_t>(phase_step(phase)) << 23);
}

template <int kRows>
inline void find_largest(Sums<kRows>& out, const LeftTile& left, const RightTile& right, int first_row) {
    for (int row = 0; row < kRows; ++row) {
        for (int group = 0; group < kGroups; ++group) {
            Lanes16 most = Lanes16{} + static_cast<int16_t>(kLeast);
#pragma GCC unroll 8
            for (int k = group * kGroup; k < (group + 1) * kGroup; ++k) {
                const Lanes16 of_left = (Lanes16)_mm512_set1_epi32(static_cast<int>(left.exponent[first_row + row][k]));
                most = larger_of(most, load_lanes<Lanes16>(right.exponent[k]) + of_left);
            }
            for (int half = 0; half < 2; ++half) {
                const __m256i narrow =
                    half == 0 ? _mm512_castsi512_si256((__m512i)most) : _mm512_extracti64x4_epi64((__m512i)most, 1);
                out.largest[group][row][half] = (Words32)((Lanes32)_mm512_cvtepi16_epi32(narrow) + kBias) << 23;
            }
        }
    }
}

// Eight products of each phase, added up. Two rows at a time fill the registers.
template <int kPhases, int kRows>
inline void add_products(Sums<kRows>& out, const LeftTile& left, const RightTile& right, int first_row, int out_row) {
    constexpr int kBoth = 2;
    constexpr int kRightParts = kPhases > 1 ? 2 : 1;
    for (int group = 0; group < kGroups; ++group) {
        const auto base = [&](int phase, int row, int half) {  // 1.5 * 2^23 units
            constexpr uint32_t kUp = static_cast<uint32_t>(23 - kSumFraction) << 23 | 0x400000u;
            return (Floats)(in_phase(out.largest[group][out_row + row][half], phase) + kUp);
        };
        Floats sum[kPhases][kBoth][2];
        for (int phase = 0; phase < kPhases; ++phase) {
            for (int row = 0; row < kBoth; ++row) {
                for (int half = 0; half < 2; ++half) sum[phase][row][half] = base(phase, row, half);
            }
        }
        for (int k = group * kGroup; k < (group + 1) * kGroup; ++k) {
            Floats of_right[kRightParts][2];
            for (int low = 0; low < kRightParts; ++low) {
                for (int half = 0; half < 2; ++half) of_right[low][half] = in_register(right.part[low][k] + half * 16);
            }
            for (int phase = 0; phase < kPhases; ++phase) {
                for (int row = 0; row < kBoth; ++row) {
                    const Floats of_left = all(left.part[srcb_low(phase)][first_row + out_row + row][k]);
                    for (int half = 0; half < 2; ++half) {
                        Floats& at = sum[phase][row][half];
                        at = multiply_add(of_left, of_right[srca_low(phase)][half], at);
                    }
                }
            }
        }
        for (int phase = 0; phase < kPhases; ++phase) {
            for (int row = 0; row < kBoth; ++row) {
                for (int half = 0; half < 2; ++half) {
                    out.sum[phase][group][out_row + row][half] = sum[phase][row][half] - base(phase, row, half);
                }
            }
        }
    }
}

// `accumulate` of chip_lane.h for half a row. `scale` is the power of two that sums are aligned to.
inline Floats add_to_16bit(Floats dst, Floats first, Floats second, Floats scale) {
    const Floats base = scale * all(1.5f * static_cast<float>(1 << (23 - kSumFraction)));
    const Floats half_unit = scale * all(0.5f / static_cast<float>(1 << kSumFraction));
    Floats sum = multiply_add(dst, all(kHair), base);
    sum = add_down(sum, add_down(first, half_unit));
    sum = add_down(sum, add_down(second, half_unit));
    const Words32 rounded = ((Words32)(sum - base) + 0x8000u) & 0xFFFF0000u;
    return (Floats)rounded;
}

// A 32-bit DST has as many bits as a float: its sums are added as whole numbers.
template <bool kSlips>
inline Floats add_to_32bit(Floats dst, Floats first, Floats second, Words32 scale) {
    const Floats units = (Floats)(((2 * kBias + 23u) << 23) - scale);
    const Floats half = all(0.5f);
    Lanes32 sum = whole<kToZero>(multiply_add<kToZero>(dst, units, with_sign_of(half, (Words32)dst)));
    sum += whole<kDown>(multiply_add<kDown>(first, units, half));
    sum += whole<kDown>(multiply_add<kDown>(second, units, half));
    // To 24 bits, nearest: one bit below them makes ties go up, where there are bits below.
    const Lanes32 size = (Lanes32)_mm512_abs_epi32((__m512i)sum);
    const Lanes32 doubled = size + size;
    const Lanes32 apart = (size >= (1 << 24)) ? doubled + 1 : doubled;
    const Floats result = __builtin_convertvector(apart, Floats) * ((Floats)scale * all(0x1p-24f));
    const Words32 bits = (Words32)with_sign_of(result, (Words32)sum);
    if (!kSlips) return (Floats)bits;
    return (Floats)((sum == -1) ? bits + (static_cast<uint32_t>(slip_of_chip()) << 23) : bits);
}

template <bool k32Bit, bool kSlips, int kRows>
inline void add_sums(float* const (*dst)[2], const Sums<kRows>& sums, bool dst_is_zero, int32_t phases) {
    Floats total[kRows][2];
    for (int row = 0; row < kRows; ++row) {
        for (int half = 0; half < 2; ++half) {
            total[row][half] = dst_is_zero ? Floats{} : load_lanes<Floats>(dst[row][half]);
        }
    }
    for (int32_t phase = 0; phase < phases; ++phase) {
        for (int pair = 0; pair < kPairs; ++pair) {
            for (int row = 0; row < kRows; ++row) {
                for (int half = 0; half < 2; ++half) {
                    Floats& at = total[row][half];
                    const Lanes32 of_terms = larger_of((Lanes32)sums.largest[2 * pair][row][half],
                                                       (Lanes32)sums.largest[2 * pair + 1][row][half]);
                    const Lanes32 scale = larger_of((Lanes32)((Words32)at & 0x7F800000u),
                                                    (Lanes32)in_phase((Words32)of_terms, phase));
                    const Floats first = sums.sum[phase][2 * pair][row][half];
                    const Floats second = sums.sum[phase][2 * pair + 1][row][half];
                    at = k32Bit ? add_to_32bit<kSlips>(at, first, second, (Words32)scale)
                                : add_to_16bit(at, first, second, (Floats)scale);
                }
            }
        }
    }
    for (int row = 0; row < kRows; ++row) {
        for (int half = 0; half < 2; ++half) store_lanes(dst[row][half], total[row][half]);
    }
}

}  // namespace chip
}  // namespace vd
