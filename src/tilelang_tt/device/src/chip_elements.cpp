// `chip` numerics: element-wise operations and reductions of the matrix engine, accumulation in L1.
#include "chip_library.h"
#include "chip_lane.h"

#include <cmath>
#include <limits>

namespace vd {
namespace chip {
namespace {

inline float* elements(Tile& tile) { return &tile.at[0][0][0]; }
inline const float* elements(const Tile& tile) { return &tile.at[0][0][0]; }

// Both operands aligned to the larger exponent and rounded to 10 fraction bits, ties away from zero.
template <bool k32Bit>
void add(float* dst, const float* a, const float* b, uint32_t flip, bool accumulate_dst) {
    const int32_t slip = slip_of_chip();
    for (uint32_t i = 0; i < kTileElements; ++i) {
        const uint32_t left = bits_of(a[i]), right = bits_of(b[i]) ^ flip;
        const int32_t ea = exponent_of(left), eb = exponent_of(right), e = larger(ea, eb);
        const int32_t sum = with_sign(left, shift_half_up(significand(left), e - ea)) +
                            with_sign(right, shift_half_up(significand(right), e - eb));
        const uint32_t old = accumulate_dst ? bits_of(dst[i]) : 0u;
        dst[i] = float_of(accumulate<k32Bit>(old, sum, e, 0, kNone, slip));
    }
}

template <bool k32Bit>
void multiply(float* dst, const float* a, const float* b, bool accumulate_dst, int32_t phases) {
    const int32_t slip = slip_of_chip();
    for (uint32_t i = 0; i < kTileElements; ++i) {
        const uint32_t left = bits_of(a[i]), right = bits_of(b[i]);
        const int32_t exponent = exponent_of(left) + exponent_of(right);
        uint32_t sum = accumulate_dst ? bits_of(dst[i]) : 0u;
        for (int32_t phase = 0; phase < phases; ++phase) {
            const int32_t e = exponent - phase_step(phase);
            const bool dropped = e < kSmallest;
            const int32_t product = srca_part(left, srca_low(phase)) * srcb_part(right, srcb_low(phase));
            sum = accumulate<k32Bit>(sum, dropped ? 0 : product, dropped ? kNone : e, 0, kNone, slip);
        }
        dst[i] = float_of(sum);
    }
}

// Column sums of 16 rows of 16 numbers times the scaler, added to `sums`; all phases before the next 16 rows.
void pool(uint32_t* sums, float scaler, const float (*rows)[kFace]) {
    LeftRow<16> left;
    RightRows<16, 16> right;
    for (int row = 0; row < 16; ++row) {
        set_left(left, row, bits_of(scaler));
        for (int col = 0; col < 16; ++col) set_right(right, row, col, bits_of(rows[row][col]));
    }
    const int32_t phases = phases_of(core->group->fidelity);
    if (core->group->fp32_dest) {
        multiply_row<true, true>(sums, left, right, phases);
    } else {
        multiply_row<false, true>(sums, left, right, phases);
    }
}

void sum_rows(Tile& dst, const Tile& data, float scaler, bool dst_is_zero) {
    Tile sums, scalers;
    for (uint32_t i = 0; i < kTileElements; ++i) elements(scalers)[i] = scaler;
    if (!dst_is_zero) sums = dst;
    chip::multiply_tile(sums, data, scalers, dst_is_zero);
    for (int face = 0; face < 4; face += 2) {
        for (uint32_t row = 0; row < kFace; ++row) dst.at[face][row][0] = sums.at[face][row][0];
    }
}

void sum_columns(Tile& dst, const Tile& data, float scaler, bool dst_is_zero) {
    for (int side = 0; side < 2; ++side) {
        uint32_t sums[kFace] = {};
        if (!dst_is_zero) std::memcpy(sums, dst.at[side][0], sizeof sums);
        pool(sums, scaler, data.at[side]);
        pool(sums, scaler, data.at[side + 2]);
        std::memcpy(dst.at[side][0], sums, sizeof sums);
    }
}

// REDUCE_SCALAR cuts what it holds in between to bf16; Wormhole keeps tf32 when the data is fp32.
uint32_t scalar_cut(DataFormat format) {
    return format == DataFormat::Float32 && !device.chip.blackhole ? 0xFFFFE000u : 0xFFFF0000u;
}

void sum_all(Tile& dst, const Tile& data, float scaler, DataFormat format, bool dst_is_zero) {
    uint32_t row[kFace] = {};
    for (int face = 0; face < 4; ++face) pool(row, scaler, data.at[face]);
    float column[kFace][kFace] = {};
    for (uint32_t i = 0; i < kFace; ++i) column[i][0] = float_of(row[i] & scalar_cut(format));
    uint32_t sums[kFace] = {};
    if (!dst_is_zero) sums[0] = bits_of(dst.at[0][0][0]);
    pool(sums, scaler, column);
    dst.at[0][0][0] = float_of(sums[0]);
}

// Source numbers in the engine's order: NaNs above infinity.
inline int32_t order(float value) {
    const uint32_t bits = bits_of(value);
    return (bits >> 31) != 0 ? -static_cast<int32_t>(bits & 0x7FFFFFFFu) : static_cast<int32_t>(bits);
}
inline float larger_number(float a, float b) { return order(a) >= order(b) ? a : b; }

// What enters DST: cut, and with a 32-bit DST no NaN.
float settled(float value, uint32_t mask) {
    const uint32_t bits = bits_of(value) & mask;
    const bool special = (bits & 0x7F800000u) == 0x7F800000u;
    return float_of(special && core->group->fp32_dest ? bits & 0xFF800000u : bits);
}

void keep_max(float& dst, float value, uint32_t mask, bool dst_is_zero) {
    const float next = settled(value, mask);
    dst = dst_is_zero ? next : larger_number(dst, next);
}

// --- accumulation in L1 --------------------------------------------------------------------------

constexpr uint32_t kSign = 0x80000000u, kInfinity = 0x7F800000u;

uint32_t without_sign(uint32_t bits) { return bits & ~kSign; }
uint32_t denormals_to_zero(uint32_t bits) { return without_sign(bits) < 0x800000u ? bits & kSign : bits; }

// Ordinary float32 arithmetic; every NaN comes out as the same one.
uint32_t float32_sum(uint32_t old, uint32_t add) {
    const uint32_t sum = bits_of(float_of(denormals_to_zero(old)) + float_of(denormals_to_zero(add)));
    return without_sign(sum) > kInfinity ? 0x7FC00000u : denormals_to_zero(sum);
}

// A Float16_b number, in the upper half of `bits`. What is a NaN elsewhere counts as a number here: 1.m x 2^128, or
// larger than any if it lay in L1.
double float16_b_number(uint32_t bits, bool in_l1) {
    const uint32_t fraction = bits & 0x7FFFFFu;
    if (without_sign(bits) <= kInfinity) return static_cast<double>(float_of(denormals_to_zero(bits)));
    const double number = std::ldexp(1.0 + std::ldexp(static_cast<double>(fraction), -23), 128);
    const double value = in_l1 ? std::numeric_limits<double>::max() : number;
    return (bits & kSign) != 0 ? -value : value;
}

// Exact, then rounded to the nearest, ties to even; infinities of either sign together are a NaN.
uint32_t float16_b_sum(uint32_t old, uint32_t add) {
    if (without_sign(old) == kInfinity && old == (add ^ kSign)) return 0x7FC00000u;
    const double sum = float16_b_number(old, true) + float16_b_number(add, false);
    const uint32_t sign = std::signbit(sum) ? kSign : 0u;
    if (std::fabs(sum) >= 0x1p128) return sign | kInfinity;
    if (std::fabs(sum) < 0x1p-126) return sign;
    const uint32_t bits = bits_of(static_cast<float>(sum));  // more than twice the bits: rounding twice does no harm
    return (bits + 0x7FFFu + ((bits >> 16) & 1u)) & 0xFFFF0000u;
}

}  // namespace

void add_elements(Tile& dst, const Tile& a, const Tile& b, bool subtract, bool accumulate_dst) {
    const uint32_t flip = subtract ? 0x80000000u : 0u;
    if (core->group->fp32_dest) {
        add<true>(elements(dst), elements(a), elements(b), flip, accumulate_dst);
    } else {
        add<false>(elements(dst), elements(a), elements(b), flip, accumulate_dst);
    }
}

void multiply_elements(Tile& dst, const Tile& a, const Tile& b, bool accumulate_dst) {
    const int32_t phases = phases_of(core->group->fidelity);
    if (core->group->fp32_dest) {
        multiply<true>(elements(dst), elements(a), elements(b), accumulate_dst, phases);
    } else {
        multiply<false>(elements(dst), elements(a), elements(b), accumulate_dst, phases);
    }
}

void reduce_sum(Tile& dst, const Tile& data, float scaler, ReduceAxis axis, DataFormat format, bool dst_is_zero) {
    switch (axis) {
        case ReduceAxis::Row: return sum_rows(dst, data, scaler, dst_is_zero);
        case ReduceAxis::Col: return sum_columns(dst, data, scaler, dst_is_zero);
        default: return sum_all(dst, data, scaler, format, dst_is_zero);
    }
}

void reduce_max(Tile& dst, const Tile& data, ReduceAxis axis, DataFormat format, bool dst_is_zero) {
    if (axis == ReduceAxis::Col) {
        for (uint32_t col = 0; col < 32; ++col) {
            const uint32_t side = col / kFace, at = col % kFace;
            float most = data.at[side][0][at];
            for (uint32_t row = 1; row < 32; ++row) {
                most = larger_number(most, data.at[side + (row / kFace) * 2][row % kFace][at]);
            }
            keep_max(dst.at[side][0][at], most, 0xFFFFFFFFu, dst_is_zero);
        }
        return;
    }
    float rows[32];
    for (uint32_t row = 0; row < 32; ++row) {
        const uint32_t face = (row / kFace) * 2;
        rows[row] = data.at[face][row % kFace][0];
        for (uint32_t col = 1; col < 32; ++col) {
            rows[row] = larger_number(rows[row], data.at[face + col / kFace][row % kFace][col % kFace]);
        }
    }
    if (axis == ReduceAxis::Row) {
        for (uint32_t row = 0; row < 32; ++row) {
            keep_max(dst.at[(row / kFace) * 2][row % kFace][0], rows[row], 0xFFFF0000u, dst_is_zero);
        }
        return;
    }
    for (uint32_t row = 1; row < 32; ++row) rows[0] = larger_number(rows[0], rows[row]);
    keep_max(dst.at[0][0][0], rows[0], scalar_cut(format), dst_is_zero);
}

void accumulate_page(DataFormat format, const uint8_t* packed, uint8_t* page) {
    const bool wide = format == DataFormat::Float32;
    for (uint32_t i = 0; i < kTileElements; ++i) {
        uint32_t add = 0, old = 0;
        if (wide) {
            std::memcpy(&add, packed + i * 4, 4);
            std::memcpy(&old, page + i * 4, 4);
            const uint32_t sum = float32_sum(old, add);
            std::memcpy(page + i * 4, &sum, 4);
        } else {
            std::memcpy(reinterpret_cast<uint8_t*>(&add) + 2, packed + i * 2, 2);
            std::memcpy(reinterpret_cast<uint8_t*>(&old) + 2, page + i * 2, 2);
            const uint16_t sum = static_cast<uint16_t>(float16_b_sum(old, add) >> 16);
            std::memcpy(page + i * 2, &sum, 2);
        }
    }
}

}  // namespace chip
}  // namespace vd
