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

// kTiny: some products may be too small to be kept.
template <bool k32Bit, bool kTiny>
void multiply_rows(Tile& dst, const Tile& left, const Tile& right, bool dst_is_zero, int32_t phases) {
    Operands operands;
    decode(operands, left, right);
    for (int row = 0; row < kSide; ++row) {
        alignas(64) uint32_t sums[kSide] = {};
        float* const halves[2] = {dst.at[(row / 16) * 2][row % 16], dst.at[(row / 16) * 2 + 1][row % 16]};
        for (int half = 0; half < 2 && !dst_is_zero; ++half) std::memcpy(sums + half * 16, halves[half], 64);
        multiply_row<k32Bit, kTiny>(sums, operands.left[row], operands.right, phases);
        for (int half = 0; half < 2; ++half) std::memcpy(halves[half], sums + half * 16, 64);
    }
}

// Exponents of a tile's numbers, as floats hold them, without those of zeros: 255 and 0 where there are no others.
struct Exponents {
    uint32_t smallest = 255, largest = 0, bits_below_bf16 = 0;
};

Exponents exponents_of(const Tile& tile) {
    const float* at = &tile.at[0][0][0];
    Exponents found;
    for (uint32_t i = 0; i < kTileElements; ++i) {
        const uint32_t bits = bits_of(at[i]), field = (bits >> 23) & 255u, counted = field == 0 ? 255u : field;
        found.smallest = found.smallest < counted ? found.smallest : counted;
        found.largest = found.largest > field ? found.largest : field;
        found.bits_below_bf16 |= bits & 0xFFFFu;
    }
    return found;
}

// What lies so far below a sum, in binades, does not change it: no product that counts is small enough to be dropped.
constexpr int32_t kBelowAnything = 26;

bool has_tiny_products(const Exponents& left, const Exponents& right) {
    const int32_t smallest = static_cast<int32_t>(left.smallest + right.smallest) - 254 - phase_step(3);
    return smallest < kSmallest + kBelowAnything;
}

#if defined(__AVX512BW__)
constexpr int kTogether = 4;  // rows whose sums are computed side by side: one alone would wait for itself

// A vector of operand parts: fraction bits that `kept` has, zeros where the number is one.
inline Floats cut(Words32 bits, uint32_t kept) {
    const Words32 something = (Words32)((bits & 0x7F800000u) != 0u);
    return (Floats)(bits & kept & something);
}
inline Words32 exponents(Words32 bits) {
    const Words32 field = (bits >> 23) & 255u;
    return (field == 0u) ? Words32{} + static_cast<uint32_t>(kNone) : field - kBias;
}

// What `srca_part` and `srcb_part` of chip_lane.h say, as floats.
void decode(RightTile& out, const Tile& tile) {
    for (int k = 0; k < kSide; ++k) {
        for (int half = 0; half < 2; ++half) {
            const Words32 bits = load_lanes<Words32>(row_of(tile, k, half));
            const Floats high = cut(bits, 0xFFF80000u);
            store_lanes(&out.part[0][k][half * 16], high);
            store_lanes(&out.part[1][k][half * 16], cut(bits, 0xFFFFC000u) - high);
            const __m256i narrow = _mm512_cvtepi32_epi16((__m512i)exponents(bits));
            std::memcpy(&out.exponent[k][half * 16], &narrow, sizeof narrow);
        }
    }
}
void decode(LeftTile& out, const Tile& tile) {
    for (int row = 0; row < kSide; ++row) {
        for (int half = 0; half < 2; ++half) {
            const Words32 bits = load_lanes<Words32>(row_of(tile, row, half));
            const Floats high = cut(bits, 0xFFFE0000u);
            store_lanes(&out.part[0][row][half * 16], high * all(kHair));
            store_lanes(&out.part[1][row][half * 16], (cut(bits, 0xFFFFE000u) - high) * all(kHair));
            const Words32 exponent = exponents(bits) & 0xFFFFu;
            store_lanes(&out.exponent[row][half * 16], exponent | exponent << 16);
        }
    }
}

template <bool k32Bit, bool kSlips, int kPhases>
void multiply_lanes(Tile& dst, const Tile& left, const Tile& right, bool dst_is_zero) {
    RightTile of_right;
    LeftTile of_left;
    decode(of_right, right);
    decode(of_left, left);
    for (int first = 0; first < kSide; first += kTogether) {
        Sums<kTogether> sums;
        find_largest(sums, of_left, of_right, first);
        for (int row = 0; row < kTogether; row += 2) add_products<kPhases>(sums, of_left, of_right, first, row);
        float* rows[kTogether][2];
        for (int row = 0; row < kTogether; ++row) {
            for (int half = 0; half < 2; ++half) {
                rows[row][half] = dst.at[((first + row) / 16) * 2 + half][(first + row) % 16];
            }
        }
        add_sums<k32Bit, kSlips>(rows, sums, dst_is_zero, kPhases);
    }
}

template <bool k32Bit, bool kSlips>
void multiply_phases(Tile& dst, const Tile& left, const Tile& right, bool dst_is_zero, int32_t phases) {
    switch (phases) {
        case 1: return multiply_lanes<k32Bit, kSlips, 1>(dst, left, right, dst_is_zero);
        case 2: return multiply_lanes<k32Bit, kSlips, 2>(dst, left, right, dst_is_zero);
        case 3: return multiply_lanes<k32Bit, kSlips, 3>(dst, left, right, dst_is_zero);
        default: return multiply_lanes<k32Bit, kSlips, 4>(dst, left, right, dst_is_zero);
    }
}

// Neither so small nor so large that a sum, its unit or its scale would leave the range of a float. 2^60 for products and
// 2^80 for DST leave room for all sums of a tile, and for what `slip_of_chip` adds to each.
bool is_ordinary(const Exponents& left, const Exponents& right, const Exponents& dst, bool dst_is_16bit) {
    constexpr uint32_t kInfinite = 255, kMost = kBias + 80, kMostProduct = 2 * kBias + 60;
    constexpr uint32_t kLeastDst = kBias + kLeast, kLeastProduct = 2 * kBias + kLeast + phase_step(3);
    if (left.largest == kInfinite || right.largest == kInfinite) return false;
    if (left.largest + right.largest > kMostProduct || left.smallest + right.smallest < kLeastProduct) return false;
    return dst.smallest >= kLeastDst && dst.largest <= kMost && !(dst_is_16bit && dst.bits_below_bf16 != 0);
}

template <bool k32Bit>
bool multiply_ordinary(Tile& dst, const Tile& left, const Tile& right, bool dst_is_zero, int32_t phases,
                       const Exponents& of_left, const Exponents& of_right) {
    if (!is_ordinary(of_left, of_right, dst_is_zero ? Exponents{} : exponents_of(dst), !k32Bit)) return false;
    k32Bit && slip_of_chip() != 0 ? multiply_phases<k32Bit, k32Bit>(dst, left, right, dst_is_zero, phases)
                                  : multiply_phases<k32Bit, false>(dst, left, right, dst_is_zero, phases);
    return true;
}
#else
template <bool k32Bit>
bool multiply_ordinary(Tile&, const Tile&, const Tile&, bool, int32_t, const Exponents&, const Exponents&) {
    return false;
}
#endif

template <bool k32Bit>
void multiply(Tile& dst, const Tile& left, const Tile& right, bool dst_is_zero) {
    const int32_t phases = phases_of(core->group->fidelity);
    const Exponents of_left = exponents_of(left), of_right = exponents_of(right);
    if (multiply_ordinary<k32Bit>(dst, left, right, dst_is_zero, phases, of_left, of_right)) return;
    has_tiny_products(of_left, of_right) ? multiply_rows<k32Bit, true>(dst, left, right, dst_is_zero, phases)
                                         : multiply_rows<k32Bit, false>(dst, left, right, dst_is_zero, phases);
}

}  // namespace

void multiply_tile(Tile& dst, const Tile& left, const Tile& right, bool dst_is_zero) {
    core->group->fp32_dest ? multiply<true>(dst, left, right, dst_is_zero)
                           : multiply<false>(dst, left, right, dst_is_zero);
}

}  // namespace chip
}  // namespace vd
