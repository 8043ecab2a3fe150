// reader of 'add_vectors' for Wormhole: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_b = tt::CBIndex::c_0;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t b_rows = 2, b_tiles = b_rows;
constexpr uint32_t cb_a_in = tt::CBIndex::c_1;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t a_in_rows = 2, a_in_tiles = a_in_rows;

void kernel_main() {
    const uint32_t A_addr = get_arg_val<uint32_t>(0);
    const uint32_t B_addr = get_arg_val<uint32_t>(1);
    const uint32_t unit_start = get_arg_val<uint32_t>(2);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(3);  // units of work of this core

    constexpr auto A_args = TensorAccessorArgs<0>();
    const auto A = TensorAccessor(A_args, A_addr);
    constexpr auto B_args = TensorAccessorArgs<A_args.next_compile_time_args_offset()>();
    const auto B = TensorAccessor(B_args, B_addr);
    constexpr uint32_t b_tile_bytes = get_tile_size(cb_b);
    constexpr uint32_t a_in_tile_bytes = get_tile_size(cb_a_in);

    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit;
        cb_reserve_back(cb_a_in, a_in_tiles);
        cb_reserve_back(cb_b, b_tiles);
        // kernel.py:14  T.copy(A[bx * BLOCK], a)
        const uint32_t a_in_l1 = get_write_ptr(cb_a_in);
        for (uint32_t i = 0; i < a_in_rows; ++i) {
            noc_async_read_page(bx * a_in_rows + i, A, a_in_l1 + i * a_in_tile_bytes);
        }
        // kernel.py:15  T.copy(B[bx * BLOCK], b)
        const uint32_t b_l1 = get_write_ptr(cb_b);
        for (uint32_t i = 0; i < b_rows; ++i) noc_async_read_page(bx * b_rows + i, B, b_l1 + i * b_tile_bytes);
        noc_async_read_barrier();
        cb_push_back(cb_a_in, a_in_tiles);
        cb_push_back(cb_b, b_tiles);
    }
}
