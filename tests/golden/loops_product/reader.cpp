// reader of 'loops_product' for Wormhole: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_A_operand = tt::CBIndex::c_0;  // 2 blocks of 1 x 3 tiles, Float16_b
constexpr uint32_t A_operand_cols = 3, A_operand_tiles = A_operand_cols;
constexpr uint32_t cb_B_operand = tt::CBIndex::c_1;  // 2 blocks of 3 x 2 tiles, Float16_b
constexpr uint32_t B_operand_rows = 3, B_operand_cols = 2, B_operand_tiles = B_operand_rows * B_operand_cols;
constexpr uint32_t A_tile_cols = 3;  // tensor A, in tiles
constexpr uint32_t B_tile_cols = 2;  // tensor B, in tiles

void kernel_main() {
    const uint32_t A_addr = get_arg_val<uint32_t>(0);
    const uint32_t B_addr = get_arg_val<uint32_t>(1);
    const uint32_t unit_start = get_arg_val<uint32_t>(2);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(3);  // units of work of this core

    constexpr auto A_args = TensorAccessorArgs<0>();
    const auto A = TensorAccessor(A_args, A_addr);
    constexpr auto B_args = TensorAccessorArgs<A_args.next_compile_time_args_offset()>();
    const auto B = TensorAccessor(B_args, B_addr);
    constexpr uint32_t A_operand_tile_bytes = get_tile_size(cb_A_operand);
    constexpr uint32_t B_operand_tile_bytes = get_tile_size(cb_B_operand);

    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit;
        cb_reserve_back(cb_A_operand, A_operand_tiles);
        cb_reserve_back(cb_B_operand, B_operand_tiles);
        // kernel.py:17  s += A[by * 32 + i, k] * B[k, j]
        const uint32_t A_operand_l1 = get_write_ptr(cb_A_operand);
        for (uint32_t j = 0; j < A_operand_cols; ++j) {
            noc_async_read_page(bx * A_tile_cols + j, A, A_operand_l1 + j * A_operand_tile_bytes);
        }
        const uint32_t B_operand_l1 = get_write_ptr(cb_B_operand);
        for (uint32_t i = 0; i < B_operand_rows; ++i) {
            for (uint32_t j = 0; j < B_operand_cols; ++j) {
                noc_async_read_page(i * B_tile_cols + j, B,
                    B_operand_l1 + (i * B_operand_cols + j) * B_operand_tile_bytes);
            }
        }
        noc_async_read_barrier();
        cb_push_back(cb_A_operand, A_operand_tiles);
        cb_push_back(cb_B_operand, B_operand_tiles);
    }
}
