// `chip` numerics: products of tiles.
#include "chip_library.h"
#if defined(__AVX512BW__)
#include "chip_products.h"
#else
#include "chip_lane.h"
#endif

namespace vd {
namespace chip {
namespace {

constexpr int kSide = 32;
constexpr int32_t kBelowAnything = 26;  // binades: what lies so far below a sum does not change it
constexpr int kTogether = 4;  // rows whose sums are computed side by side: one alone would wait for itself

// Element (row, col) of a tile lies in face (row / 16, col / 16).
inline const float* row_of(const Tile& tile, int row, int face_col) {
    return tile.at[(row / 16) * 2 + face_col][row % 16];
}

struct Operands {
    RightRows<kSide, kSide> right;
    LeftRow<kSide> left[kSide];
};

void decode(Operands& operands, const Tile& left, const Tile& right) {
    for (int row = 0; row < kSide; ++row) {
        for (int half = 0; half < 2; ++half) {
            const float* a = row_of(right, row, half);
            const float* b = row_of(left, row, half);
            for (int i = 0; i < 16; ++i) set_right(operands.right, row, half * 16 + i, bits_of(a[i]));
            for (int i = 0; i < 16; ++i) set_left(operands.left[row], half * 16 + i, bits_of(b[i]));
        }
    }
}

// The smallest exponent of a tile's numbers that are not zero.
int32_t smallest_exponent(const Tile& tile) {
    const float* at = &tile.at[0][0][0];
    uint32_t smallest = 255;
    for (uint32_t i = 0; i < kTileElements; ++i) {
        const uint32_t field = (bits_of(at[i]) >> 23) & 255u;
        const uint32_t counted = field == 0 ? 255u : field;
        smallest = smallest < counted ? smallest : counted;
    }
    return static_cast<int32_t>(smallest) - 127;
}

// kRows rows of DST at a time, whose halves lie in two faces.
template <int kRows, typename Multiply>
void for_rows(Tile& dst, bool dst_is_zero, Multiply multiply) {
    for (int first = 0; first < kSide; first += kRows) {
        alignas(64) uint32_t sums[kRows][kSide] = {};
        const auto half_of = [&](int row, int half) { return dst.at[(row / 16) * 2 + half][row % 16]; };
        for (int i = 0; i < kRows && !dst_is_zero; ++i) {
            std::memcpy(sums[i], half_of(first + i, 0), 64);
            std::memcpy(sums[i] + 16, half_of(first + i, 1), 64);
        }
        multiply(first, sums);
        for (int i = 0; i < kRows; ++i) {
            std::memcpy(half_of(first + i, 0), sums[i], 64);
            std::memcpy(half_of(first + i, 1), sums[i] + 16, 64);
        }
    }
}

// kTiny: some products may be too small to be kept.
template <bool k32Bit, bool kTiny>
void multiply_rows(Tile& dst, const Tile& left, const Tile& right, bool dst_is_zero, int32_t phases) {
    Operands operands;
    decode(operands, left, right);
    for_rows<1>(dst, dst_is_zero, [&](int row, uint32_t (*sums)[kSide]) {
        multiply_row<k32Bit, kTiny>(sums[0], operands.left[row], operands.right, phases);
    });
}

#if defined(__AVX512BW__)
void decode_right(RightTile& out, const Tile& tile) {
    for (int k = 0; k < kSide; ++k) {
        auto* high = reinterpret_cast<int16_t*>(&out.part[0][k]);
        auto* low = reinterpret_cast<int16_t*>(&out.part[1][k]);
        auto* exponent = reinterpret_cast<int16_t*>(&out.exponent[k]);
        for (int half = 0; half < 2; ++half) {
            const float* from = row_of(tile, k, half);
            for (int i = 0; i < 16; ++i) {
                const uint32_t bits = bits_of(from[i]);
                high[half * 16 + i] = static_cast<int16_t>(srca_part(bits, false));
                low[half * 16 + i] = static_cast<int16_t>(srca_part(bits, true));
                exponent[half * 16 + i] = static_cast<int16_t>(exponent_of(bits));
            }
        }
    }
}

void decode_left(LeftLine& out, const Tile& tile, int row) {
    for (int half = 0; half < 2; ++half) {
        const float* from = row_of(tile, row, half);
        for (int i = 0; i < 16; ++i) {
            const uint32_t bits = bits_of(from[i]);
            for (int low = 0; low < 2; ++low) {
                const int32_t part = srcb_part(bits, low != 0);
                out.part[low][half * 16 + i] = static_cast<int16_t>(part * (1 << kRoom));
                out.factor[low][half * 16 + i] = static_cast<int16_t>(part * 64 + (part > 0) - (part < 0));
            }
            out.exponent[half * 16 + i] = static_cast<int16_t>(exponent_of(bits));
        }
    }
}

template <bool k32Bit, bool kSlips>
void multiply_lanes(Tile& dst, const Tile& left, const Tile& right, bool dst_is_zero, int32_t phases) {
    RightTile operand;
    decode_right(operand, right);
    for_rows<kTogether>(dst, dst_is_zero, [&](int row, uint32_t (*sums)[kSide]) {
        LeftLine lines[kTogether];
        for (int i = 0; i < kTogether; ++i) decode_left(lines[i], left, row + i);
        multiply_lines<k32Bit, kSlips, kTogether>(sums, lines, operand, phases);
    });
}

template <bool k32Bit>
void multiply_large(Tile& dst, const Tile& left, const Tile& right, bool dst_is_zero, int32_t phases) {
    k32Bit && slip_of_chip() != 0 ? multiply_lanes<k32Bit, true>(dst, left, right, dst_is_zero, phases)
                                  : multiply_lanes<k32Bit, false>(dst, left, right, dst_is_zero, phases);
}
#else
template <bool k32Bit>
void multiply_large(Tile& dst, const Tile& left, const Tile& right, bool dst_is_zero, int32_t phases) {
    multiply_rows<k32Bit, false>(dst, left, right, dst_is_zero, phases);
}
#endif

template <bool k32Bit>
void multiply(Tile& dst, const Tile& left, const Tile& right, bool dst_is_zero) {
    const int32_t phases = phases_of(core->group->fidelity);
    const int32_t smallest = smallest_exponent(left) + smallest_exponent(right) - phase_step(3);
    smallest < kSmallest + kBelowAnything ? multiply_rows<k32Bit, true>(dst, left, right, dst_is_zero, phases)
                                          : multiply_large<k32Bit>(dst, left, right, dst_is_zero, phases);
}

}  // namespace

void multiply_tile(Tile& dst, const Tile& left, const Tile& right, bool dst_is_zero) {
    core->group->fp32_dest ? multiply<true>(dst, left, right, dst_is_zero)
                           : multiply<false>(dst, left, right, dst_is_zero);
}

}  // namespace chip
}  // namespace vd
