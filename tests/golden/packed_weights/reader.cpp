// reader of 'packed_weights' for Wormhole: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_packed = tt::CBIndex::c_0;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t packed_rows = 2, packed_tiles = packed_rows;
constexpr uint32_t cb_a_0 = tt::CBIndex::c_1;  // 2 blocks of 1 x 1 tiles, Float16_b
constexpr uint32_t cb_a_1 = tt::CBIndex::c_2;  // 2 blocks of 1 x 1 tiles, Float16_b
constexpr uint32_t cb_S_tile = tt::CBIndex::c_3;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t S_tile_rows = 2, S_tile_tiles = S_tile_rows;
constexpr uint32_t cb_S_tile_1 = tt::CBIndex::c_4;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t S_tile_1_rows = 2, S_tile_1_tiles = S_tile_1_rows;
constexpr uint32_t cb_S_tile_2 = tt::CBIndex::c_5;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t S_tile_2_rows = 2, S_tile_2_tiles = S_tile_2_rows;
constexpr uint32_t cb_S_tile_3 = tt::CBIndex::c_6;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t S_tile_3_rows = 2, S_tile_3_tiles = S_tile_3_rows;
constexpr uint32_t cb_mask = tt::CBIndex::c_7;  // 1 x 1 tiles, Float16_b
constexpr uint32_t A_tile_cols = 2;  // tensor A, in tiles
constexpr uint32_t W_tile_cols = 2;  // tensor W, in tiles
constexpr uint32_t S_tile_rows_1 = 2;  // tensor S, in tiles

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
    const uint32_t A_addr = get_arg_val<uint32_t>(0);
    const uint32_t W_addr = get_arg_val<uint32_t>(1);
    const uint32_t S_addr = get_arg_val<uint32_t>(2);
    const uint32_t unit_start = get_arg_val<uint32_t>(3);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(4);  // units of work of this core

    constexpr auto A_args = TensorAccessorArgs<0>();
    const auto A = TensorAccessor(A_args, A_addr);
    constexpr auto W_args = TensorAccessorArgs<A_args.next_compile_time_args_offset()>();
    const auto W = TensorAccessor(W_args, W_addr);
    constexpr auto S_args = TensorAccessorArgs<W_args.next_compile_time_args_offset()>();
    const auto S = TensorAccessor(S_args, S_addr);
    constexpr uint32_t packed_tile_bytes = get_tile_size(cb_packed);
    constexpr uint32_t a_0_tile_bytes = get_tile_size(cb_a_0);
    constexpr uint32_t a_1_tile_bytes = get_tile_size(cb_a_1);
    constexpr uint32_t S_tile_tile_bytes = get_tile_size(cb_S_tile);
    constexpr uint32_t S_tile_1_tile_bytes = get_tile_size(cb_S_tile_1);
    constexpr uint32_t S_tile_2_tile_bytes = get_tile_size(cb_S_tile_2);
    constexpr uint32_t S_tile_3_tile_bytes = get_tile_size(cb_S_tile_3);
    constexpr uint32_t mask_tile_bytes = get_tile_size(cb_mask);

    cb_reserve_back(cb_mask, 1);
    const uint32_t mask_l1 = get_write_ptr(cb_mask);
    mask_tile<mask_tile_bytes>(mask_l1, 15, 0, -1, 0x3f800000u /* 1 */, 0x00000000u /* 0 */);
    cb_push_back(cb_mask, 1);
    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit;
        // kernel.py:22  for k in T.Pipelined(LENGTH // DEPTH, num_stages=2):
        for (uint32_t k = 0; k < 2; ++k) {
            cb_reserve_back(cb_a_0, 1);
            cb_reserve_back(cb_a_1, 1);
            cb_reserve_back(cb_packed, packed_tiles);
            cb_reserve_back(cb_S_tile, S_tile_tiles);
            cb_reserve_back(cb_S_tile_1, S_tile_1_tiles);
            cb_reserve_back(cb_S_tile_2, S_tile_2_tiles);
            cb_reserve_back(cb_S_tile_3, S_tile_3_tiles);
            // kernel.py:23  T.copy(A[by * 32, k * DEPTH], a)
            const uint32_t a_0_l1 = get_write_ptr(cb_a_0);
            noc_async_read_page(bx * A_tile_cols + k, A, a_0_l1);
            const uint32_t a_1_l1 = get_write_ptr(cb_a_1);
            noc_async_read_page((2 + bx) * A_tile_cols + k, A, a_1_l1);
            // kernel.py:24  T.copy(W[0, k * (DEPTH // 2)], packed)
            const uint32_t packed_l1 = get_write_ptr(cb_packed);
            for (uint32_t i = 0; i < packed_rows; ++i) {
                noc_async_read_page(i * W_tile_cols + k, W, packed_l1 + i * packed_tile_bytes);
            }
            // kernel.py:27  w[i, j] = number * S[i, (k * DEPTH + j) // GROUP]
            const uint32_t S_tile_l1 = get_write_ptr(cb_S_tile);
            for (uint32_t i = 0; i < S_tile_rows; ++i) {
                noc_async_read_page(k * 2 * S_tile_rows_1 + i, S, S_tile_l1 + i * S_tile_tile_bytes);
            }
            const uint32_t S_tile_1_l1 = get_write_ptr(cb_S_tile_1);
            for (uint32_t i = 0; i < S_tile_1_rows; ++i) {
                noc_async_read_page((k * 2 + 1) * S_tile_rows_1 + i, S, S_tile_1_l1 + i * S_tile_1_tile_bytes);
            }
            const uint32_t S_tile_2_l1 = get_write_ptr(cb_S_tile_2);
            for (uint32_t i = 0; i < S_tile_2_rows; ++i) {
                noc_async_read_page(k * 2 * S_tile_rows_1 + i, S, S_tile_2_l1 + i * S_tile_2_tile_bytes);
            }
            const uint32_t S_tile_3_l1 = get_write_ptr(cb_S_tile_3);
            for (uint32_t i = 0; i < S_tile_3_rows; ++i) {
                noc_async_read_page((k * 2 + 1) * S_tile_rows_1 + i, S, S_tile_3_l1 + i * S_tile_3_tile_bytes);
            }
            noc_async_read_barrier();
            cb_push_back(cb_a_0, 1);
            cb_push_back(cb_a_1, 1);
            cb_push_back(cb_packed, packed_tiles);
            cb_push_back(cb_S_tile, S_tile_tiles);
            cb_push_back(cb_S_tile_1, S_tile_1_tiles);
            cb_push_back(cb_S_tile_2, S_tile_2_tiles);
            cb_push_back(cb_S_tile_3, S_tile_3_tiles);
        }
    }
}
