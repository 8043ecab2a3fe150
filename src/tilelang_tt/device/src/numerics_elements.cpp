// Matrix engine besides products of tiles: element-wise operations and reductions, in `fast` and `exact` plain fp32.
#include "chip_library.h"
#include "numerics.h"

namespace vd {
namespace {

inline float* elements(Tile& tile) { return &tile.at[0][0][0]; }
inline const float* elements(const Tile& tile) { return &tile.at[0][0][0]; }

float larger(float a, float b) { return a > b ? a : b; }

// The result of a reduction at (row, col); `zero` when DST holds nothing yet.
void put(Tile& dst, uint32_t face, uint32_t row, uint32_t col, float value, bool zero, bool maximum) {
    float& to = dst.at[face][row][col];
    to = zero ? value : maximum ? larger(to, value) : to + value;
}

template <typename Combine>
void reduce(Tile& dst, const Tile& data, ReduceAxis axis, float scaler, bool zero, bool maximum, Combine combine) {
    float rows[32], cols[32];
    for (uint32_t i = 0; i < 32; ++i) {
        const uint32_t half = i / kFace, at = i % kFace;
        rows[i] = data.at[half * 2][at][0];
        cols[i] = data.at[half][0][at];
        for (uint32_t j = 1; j < 32; ++j) {
            rows[i] = combine(rows[i], data.at[half * 2 + j / kFace][at][j % kFace]);
            cols[i] = combine(cols[i], data.at[half + (j / kFace) * 2][j % kFace][at]);
        }
    }
    if (axis == ReduceAxis::Row) {
        for (uint32_t i = 0; i < 32; ++i) put(dst, (i / kFace) * 2, i % kFace, 0, rows[i] * scaler, zero, maximum);
    } else if (axis == ReduceAxis::Col) {
        for (uint32_t i = 0; i < 32; ++i) put(dst, i / kFace, 0, i % kFace, cols[i] * scaler, zero, maximum);
    } else {
        for (uint32_t i = 1; i < 32; ++i) rows[0] = combine(rows[0], rows[i]);
        put(dst, 0, 0, 0, rows[0] * scaler * scaler, zero, maximum);
    }
    if (dst_is_16bit()) round_to_16bit_dst(dst);
}

}  // namespace

void add_elements(Tile& dst, const Tile& a, const Tile& b, bool subtract, bool accumulate) {
    if (device.bit_true) return chip::library->add_elements(dst, a, b, subtract, accumulate);
    float* to = elements(dst);
    const float *left = elements(a), *right = elements(b);
    for (uint32_t i = 0; i < kTileElements; ++i) {
        const float value = subtract ? left[i] - right[i] : left[i] + right[i];
        to[i] = accumulate ? to[i] + value : value;
    }
    if (dst_is_16bit()) round_to_16bit_dst(dst);
}

void multiply_elements(Tile& dst, const Tile& a, const Tile& b, bool accumulate) {
    if (device.bit_true) return chip::library->multiply_elements(dst, a, b, accumulate);
    Tile left = a, right = b;
    cut_to_fidelity(left, true);
    cut_to_fidelity(right, false);
    float* to = elements(dst);
    for (uint32_t i = 0; i < kTileElements; ++i) {
        const float value = elements(left)[i] * elements(right)[i];
        to[i] = accumulate ? to[i] + value : value;
    }
    if (dst_is_16bit()) round_to_16bit_dst(dst);
}

void reduce_sum(Tile& dst, const Tile& data, float scaler, ReduceAxis axis, DataFormat format, bool dst_is_zero) {
    if (device.bit_true) return chip::library->reduce_sum(dst, data, scaler, axis, format, dst_is_zero);
    reduce(dst, data, axis, scaler, dst_is_zero, false, [](float a, float b) { return a + b; });
}

void reduce_max(Tile& dst, const Tile& data, ReduceAxis axis, DataFormat format, bool dst_is_zero) {
    if (device.bit_true) return chip::library->reduce_max(dst, data, axis, format, dst_is_zero);
    reduce(dst, data, axis, 1.0f, dst_is_zero, true, larger);
}

}  // namespace vd
