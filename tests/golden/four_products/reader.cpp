// reader of 'four_products' for Wormhole: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_a = tt::CBIndex::c_0;  // 8 x 8 tiles, Float32
constexpr uint32_t a_rows = 8, a_cols = 8, a_tiles = a_rows * a_cols;
constexpr uint32_t cb_b = tt::CBIndex::c_1;  // 8 x 8 tiles, Float32
constexpr uint32_t b_rows = 8, b_cols = 8, b_tiles = b_rows * b_cols;
constexpr uint32_t A_tile_cols = 8;  // tensor A, in tiles
constexpr uint32_t B_tile_cols = 8;  // tensor B, in tiles

void kernel_main() {
    const uint32_t A_addr = get_arg_val<uint32_t>(0);
    const uint32_t B_addr = get_arg_val<uint32_t>(1);
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core

    constexpr auto A_args = TensorAccessorArgs<0>();
    const auto A = TensorAccessor(A_args, A_addr);
    constexpr auto B_args = TensorAccessorArgs<A_args.next_compile_time_args_offset()>();
    const auto B = TensorAccessor(B_args, B_addr);
    constexpr uint32_t a_tile_bytes = get_tile_size(cb_a);
    constexpr uint32_t b_tile_bytes = get_tile_size(cb_b);

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_reserve_back(cb_a, a_tiles);
        cb_reserve_back(cb_b, b_tiles);
        // kernel.py:20  T.copy(A, a)
        const uint32_t a_l1 = get_write_ptr(cb_a);
        for (uint32_t i = 0; i < a_rows; ++i) {
            for (uint32_t j = 0; j < a_cols; ++j) {
                noc_async_read_page(i * A_tile_cols + j, A, a_l1 + (i * a_cols + j) * a_tile_bytes);
            }
        }
        // kernel.py:21  T.copy(B, b)
        const uint32_t b_l1 = get_write_ptr(cb_b);
        for (uint32_t i = 0; i < b_rows; ++i) {
            for (uint32_t j = 0; j < b_cols; ++j) {
                noc_async_read_page(i * B_tile_cols + j, B, b_l1 + (i * b_cols + j) * b_tile_bytes);
            }
        }
        noc_async_read_barrier();
        cb_push_back(cb_a, a_tiles);
        cb_push_back(cb_b, b_tiles);
    }
}
