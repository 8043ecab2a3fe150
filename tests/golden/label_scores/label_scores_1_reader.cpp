// reader of 'label_scores_1' for Wormhole, units: match: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_most_1 = tt::CBIndex::c_0;  // 1 x 1 tiles, Float32, in place: this core's shard of largest
constexpr uint32_t cb_labels_words_tile = tt::CBIndex::c_1;  // 2 blocks of 1 x 1 tiles, Int32
constexpr uint32_t cb_index = tt::CBIndex::c_2;  // 1 x 1 tiles, Float16_b
constexpr uint32_t cb_mask = tt::CBIndex::c_3;  // 2 x 1 tiles, Float16_b
constexpr uint32_t mask_tiles = 2;
constexpr uint32_t cb_x_1_in = tt::CBIndex::c_4;  // 2 blocks of 1 x 4 tiles, Float32
constexpr uint32_t x_1_in_cols = 4, x_1_in_tiles = x_1_in_cols;
constexpr uint32_t X_tile_cols = 4;  // tensor X, in tiles

// Stores a float32 number as element (i, j) of a tile: in bfloat16, or whole where the buffer's tiles are that large.
template <uint32_t tile_bytes>
inline void set_element(uint32_t l1, uint32_t i, uint32_t j, uint32_t bits) {
    const uint32_t element = (i / 16 * 2 + j / 16) * 256 + i % 16 * 16 + j % 16;
    if (tile_bytes == 4096) {
        reinterpret_cast<volatile tt_l1_ptr uint32_t*>(l1)[element] = bits;
    } else {
        reinterpret_cast<volatile tt_l1_ptr uint16_t*>(l1)[element] = bits >> 16;
    }
}

// The bits of the float32 nearest to a whole number: the cores that run this have no floating point.
inline uint32_t float_of(int32_t number) {
    uint32_t rest = number < 0 ? 0 - uint32_t(number) : uint32_t(number);
    if (rest == 0) return 0;
    uint32_t exponent = 127 + 31;
    for (; rest < 0x80000000u; rest <<= 1) --exponent;
    const uint32_t kept = rest >> 8, lost = rest & 0xff;
    const uint32_t up = lost > 0x80 || (lost == 0x80 && (kept & 1)) ? 1 : 0;
    return (number < 0 ? 0x80000000u : 0) + (exponent << 23) + (kept & 0x7fffff) + up;
}

// A tile whose element (i, j) is base + row * i + col * j, a whole number of at most 256.
template <uint32_t tile_bytes>
inline void constant_tile(uint32_t l1, int32_t base, int32_t row, int32_t col) {
    for (uint32_t i = 0; i < 32; ++i) {
        for (uint32_t j = 0; j < 32; ++j) {
            set_element<tile_bytes>(l1, i, j, float_of(base + row * int32_t(i) + col * int32_t(j)));
        }
    }
}

// A tile whose element (i, j) is `yes` where offset + row * i + col * j >= 0, and `no` elsewhere.
template <uint32_t tile_bytes>
inline void mask_tile(uint32_t l1, int32_t offset, int32_t row, int32_t col, uint32_t yes, uint32_t no) {
    for (uint32_t i = 0; i < 32; ++i) {
        for (uint32_t j = 0; j < 32; ++j) {
            set_element<tile_bytes>(l1, i, j, offset + row * int32_t(i) + col * int32_t(j) >= 0 ? yes : no);
        }
    }
}

void kernel_main() {
    const uint32_t X_addr = get_arg_val<uint32_t>(0);
    const uint32_t labels_words_addr = get_arg_val<uint32_t>(1);
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core
    const uint32_t first_column = get_arg_val<uint32_t>(3);  // first column of this core's blocks

    constexpr auto X_args = TensorAccessorArgs<0>();
    const auto X = TensorAccessor(X_args, X_addr);
    constexpr auto labels_words_args = TensorAccessorArgs<X_args.next_compile_time_args_offset()>();
    const auto labels_words = TensorAccessor(labels_words_args, labels_words_addr);
    constexpr uint32_t labels_words_tile_tile_bytes = get_tile_size(cb_labels_words_tile);
    constexpr uint32_t index_tile_bytes = get_tile_size(cb_index);
    constexpr uint32_t mask_tile_bytes = get_tile_size(cb_mask);
    constexpr uint32_t x_1_in_tile_bytes = get_tile_size(cb_x_1_in);

    cb_reserve_back(cb_index, 1);
    const uint32_t index_l1 = get_write_ptr(cb_index);
    constant_tile<index_tile_bytes>(index_l1, 0, 0, 1);
    cb_push_back(cb_index, 1);
    cb_reserve_back(cb_mask, mask_tiles);
    const uint32_t mask_l1 = get_write_ptr(cb_mask);
    mask_tile<mask_tile_bytes>(mask_l1, 3, 0, -1, 0x3f800000u /* 1 */, 0x00000000u /* 0 */);
    mask_tile<mask_tile_bytes>(mask_l1 + 1 * mask_tile_bytes, 0, 0, 0, 0x3f800000u /* 1 */, 0x3f800000u /* 1 */);
    cb_push_back(cb_mask, mask_tiles);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        const uint32_t bx = first_column + unit;
        cb_reserve_back(cb_x_1_in, x_1_in_tiles);
        cb_reserve_back(cb_most_1, 1);
        cb_reserve_back(cb_labels_words_tile, 1);
        // kernel.py:24  T.copy(X[bx * 32, 0], x)
        const uint32_t x_1_in_l1 = get_write_ptr(cb_x_1_in);
        for (uint32_t j = 0; j < x_1_in_cols; ++j) {
            noc_async_read_page(bx * X_tile_cols + j, X, x_1_in_l1 + j * x_1_in_tile_bytes);
        }
        // kernel.py:25  T.copy(largest[bx * 32], most)
        // kernel.py:27  x[i, j] = T.if_then_else(labels[bx * 32 + i] == j, x[i, j] - most[i], 0.0)
        const uint32_t labels_words_tile_l1 = get_write_ptr(cb_labels_words_tile);
        noc_async_read_page(bx, labels_words, labels_words_tile_l1);
        noc_async_read_barrier();
        cb_push_back(cb_x_1_in, x_1_in_tiles);
        cb_push_back(cb_most_1, 1);
        cb_push_back(cb_labels_words_tile, 1);
    }
}
