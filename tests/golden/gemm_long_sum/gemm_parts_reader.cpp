// reader of 'gemm_parts' for Wormhole, units: match: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_A_shared = tt::CBIndex::c_0;  // 2 blocks of 1 x 4 tiles, Float16_b
constexpr uint32_t A_shared_cols = 4, A_shared_tiles = A_shared_cols;
constexpr uint32_t cb_B_shared = tt::CBIndex::c_1;  // 2 blocks of 4 x 2 tiles, Float16_b
constexpr uint32_t B_shared_rows = 4, B_shared_cols = 2, B_shared_tiles = B_shared_rows * B_shared_cols;
constexpr uint32_t B_tile_cols = 2;  // tensor B, in tiles

void kernel_main() {
    const uint32_t A_addr = get_arg_val<uint32_t>(0);
    const uint32_t B_addr = get_arg_val<uint32_t>(1);
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core
    const uint32_t first_column = get_arg_val<uint32_t>(3);  // first column of this core's blocks
    const uint32_t columns = get_arg_val<uint32_t>(4);  // columns of blocks of this core
    const uint32_t first_row = get_arg_val<uint32_t>(5);  // first row of this core's blocks

    constexpr auto A_args = TensorAccessorArgs<0>();
    const auto A = TensorAccessor(A_args, A_addr);
    constexpr auto B_args = TensorAccessorArgs<A_args.next_compile_time_args_offset()>();
    const auto B = TensorAccessor(B_args, B_addr);
    constexpr uint32_t A_shared_tile_bytes = get_tile_size(cb_A_shared);
    constexpr uint32_t B_shared_tile_bytes = get_tile_size(cb_B_shared);

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        const uint32_t bx = first_column + unit % columns;
        const uint32_t row = first_row + unit / columns;
        const uint32_t part = row;
        // kernel.py:23  for k in T.Pipelined(K // BLOCK_K, num_stages=2):
        for (uint32_t k = 0; k < 8; ++k) {
            cb_reserve_back(cb_A_shared, A_shared_tiles);
            cb_reserve_back(cb_B_shared, B_shared_tiles);
            // kernel.py:24  T.copy(A[by * BLOCK_M, k * BLOCK_K], A_shared)
            const uint32_t A_shared_l1 = get_write_ptr(cb_A_shared);
            for (uint32_t j = 0; j < A_shared_cols; ++j) {
                noc_async_read_page(part * 32 + k * A_shared_cols + j, A, A_shared_l1 + j * A_shared_tile_bytes);
            }
            // kernel.py:25  T.copy(B[k * BLOCK_K, bx * BLOCK_N], B_shared)
            const uint32_t B_shared_l1 = get_write_ptr(cb_B_shared);
            for (uint32_t i = 0; i < B_shared_rows; ++i) {
                for (uint32_t j = 0; j < B_shared_cols; ++j) {
                    noc_async_read_page((part * 32 + k * B_shared_rows + i) * B_tile_cols + bx * B_shared_cols + j, B,
                        B_shared_l1 + (i * B_shared_cols + j) * B_shared_tile_bytes);
                }
            }
            noc_async_read_barrier();
            cb_push_back(cb_A_shared, A_shared_tiles);
            cb_push_back(cb_B_shared, B_shared_tiles);
        }
    }
}
