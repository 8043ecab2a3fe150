// reader of 'label_scores_0' for Wormhole, units: match: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_x = tt::CBIndex::c_0;  // 2 blocks of 1 x 4 tiles, Float32
constexpr uint32_t x_cols = 4, x_tiles = x_cols;
constexpr uint32_t cb_mask = tt::CBIndex::c_1;  // 2 x 1 tiles, Float16_b
constexpr uint32_t mask_tiles = 2;
constexpr uint32_t cb_mask_1 = tt::CBIndex::c_2;  // 1 x 1 tiles, Float16_b
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
    const uint32_t unit_count = get_arg_val<uint32_t>(1);  // units of work of this core
    const uint32_t first_column = get_arg_val<uint32_t>(2);  // first column of this core's blocks

    constexpr auto X_args = TensorAccessorArgs<0>();
    const auto X = TensorAccessor(X_args, X_addr);
    constexpr uint32_t x_tile_bytes = get_tile_size(cb_x);
    constexpr uint32_t mask_tile_bytes = get_tile_size(cb_mask);
    constexpr uint32_t mask_1_tile_bytes = get_tile_size(cb_mask_1);

    cb_reserve_back(cb_mask, mask_tiles);
    const uint32_t mask_l1 = get_write_ptr(cb_mask);
    mask_tile<mask_tile_bytes>(mask_l1, 3, 0, -1, 0x3f800000u /* 1 */, 0x00000000u /* 0 */);
    mask_tile<mask_tile_bytes>(mask_l1 + 1 * mask_tile_bytes, 0, 0, 0, 0x3f800000u /* 1 */, 0x3f800000u /* 1 */);
    cb_push_back(cb_mask, mask_tiles);
    cb_reserve_back(cb_mask_1, 1);
    const uint32_t mask_1_l1 = get_write_ptr(cb_mask_1);
    mask_tile<mask_1_tile_bytes>(mask_1_l1, 27, -1, 0, 0x3f800000u /* 1 */, 0x00000000u /* 0 */);
    cb_push_back(cb_mask_1, 1);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        const uint32_t bx = first_column + unit;
        cb_reserve_back(cb_x, x_tiles);
        // kernel.py:17  T.copy(X[bx * 32, 0], x)
        const uint32_t x_l1 = get_write_ptr(cb_x);
        for (uint32_t j = 0; j < x_cols; ++j) noc_async_read_page(bx * X_tile_cols + j, X, x_l1 + j * x_tile_bytes);
        noc_async_read_barrier();
        cb_push_back(cb_x, x_tiles);
    }
}
