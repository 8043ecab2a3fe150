// `chip` numerics: products of tiles.
#include "chip_library.h"
#include "chip_lane.h"

namespace vd {
namespace chip {
namespace {

constexpr int kSide = 32;

// Element (row, col) of a tile lies in face (row / 16, col / 16).
inline const float* row_of(const Tile& tile, int row, int face_col) {
    return tile.at[(row / 16) * 2 + face_col][row % 16];
}

struct Operands {
    RightRows<kSide, kSide> right;
    LeftRow<kSide> left[kSide];
    bool tiny;  // a product may be too small to be kept
};

void decode(Operands& operands, const Tile& left, const Tile& right) {
    int32_t smallest_left = 1000, smallest_right = 1000;  // above any exponent
    for (int row = 0; row < kSide; ++row) {
        for (int half = 0; half < 2; ++half) {
            const float* a = row_of(right, row, half);
            const float* b = row_of(left, row, half);
            for (int i = 0; i < 16; ++i) set_right(operands.right, row, half * 16 + i, bits_of(a[i]));
            for (int i = 0; i < 16; ++i) set_left(operands.left[row], half * 16 + i, bits_of(b[i]));
            for (int i = 0; i < 16; ++i) {
                const int32_t ea = exponent_of(bits_of(a[i])), eb = exponent_of(bits_of(b[i]));
                smallest_right = smaller(smallest_right, ea == kNone ? 1000 : ea);
                smallest_left = smaller(smallest_left, eb == kNone ? 1000 : eb);
            }
        }
    }
    operands.tiny = smallest_left + smallest_right - phase_step(3) < kSmallest;
}

template <bool k32Bit, bool kTiny>
void multiply(Tile& dst, const Operands& operands, bool dst_is_zero) {
    const int32_t phases = phases_of(core->group->fidelity);
    for (int row = 0; row < kSide; ++row) {
        float* halves[2] = {dst.at[(row / 16) * 2][row % 16], dst.at[(row / 16) * 2 + 1][row % 16]};
        alignas(64) uint32_t sums[kSide] = {};
        if (!dst_is_zero) {
            std::memcpy(sums, halves[0], 64);
            std::memcpy(sums + 16, halves[1], 64);
        }
        multiply_row<k32Bit, kTiny>(sums, operands.left[row], operands.right, phases);
        std::memcpy(halves[0], sums, 64);
        std::memcpy(halves[1], sums + 16, 64);
    }
}

}  // namespace

void multiply_tile(Tile& dst, const Tile& left, const Tile& right, bool dst_is_zero) {
    Operands operands;
    decode(operands, left, right);
    if (core->group->fp32_dest) {
        operands.tiny ? multiply<true, true>(dst, operands, dst_is_zero)
                      : multiply<true, false>(dst, operands, dst_is_zero);
    } else {
        operands.tiny ? multiply<false, true>(dst, operands, dst_is_zero)
                      : multiply<false, false>(dst, operands, dst_is_zero);
    }
}

}  // namespace chip
}  // namespace vd
