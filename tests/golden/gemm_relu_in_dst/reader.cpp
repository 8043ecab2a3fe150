// reader of 'matmul_relu' for Wormhole: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_A_shared = tt::CBIndex::c_0;  // 2 blocks of 2 x 1 tiles, Float32
constexpr uint32_t A_shared_rows = 2, A_shared_tiles = A_shared_rows;
constexpr uint32_t cb_B_shared = tt::CBIndex::c_1;  // 2 blocks of 2 x 1 tiles, Float32
constexpr uint32_t B_shared_rows = 2, B_shared_tiles = B_shared_rows;
constexpr uint32_t A_tile_cols = 4;  // tensor A, in tiles
constexpr uint32_t B_tile_cols = 4;  // tensor B, in tiles

void kernel_main() {
    const uint32_t A_addr = get_arg_val<uint32_t>(0);
    const uint32_t B_addr = get_arg_val<uint32_t>(1);
    const uint32_t unit_start = get_arg_val<uint32_t>(2);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(3);  // units of work of this core

    constexpr auto A_args = TensorAccessorArgs<0>();
    const auto A = TensorAccessor(A_args, A_addr);
    constexpr auto B_args = TensorAccessorArgs<A_args.next_compile_time_args_offset()>();
    const auto B = TensorAccessor(B_args, B_addr);
    constexpr uint32_t A_shared_tile_bytes = get_tile_size(cb_A_shared);
    constexpr uint32_t B_shared_tile_bytes = get_tile_size(cb_B_shared);

    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit % 4;
        const uint32_t by = unit / 4;
        // kernel.py:17  for k in T.Pipelined(4, num_stages=2):
        for (uint32_t k = 0; k < 4; ++k) {
            cb_reserve_back(cb_A_shared, A_shared_tiles);
            cb_reserve_back(cb_B_shared, B_shared_tiles);
            // kernel.py:18  T.copy(A[by * 64, k * 32], A_shared)
            const uint32_t A_shared_l1 = get_write_ptr(cb_A_shared);
            for (uint32_t i = 0; i < A_shared_rows; ++i) {
                noc_async_read_page((by * A_shared_rows + i) * A_tile_cols + k, A,
                    A_shared_l1 + i * A_shared_tile_bytes);
            }
            // kernel.py:19  T.copy(B[bx * 64, k * 32], B_shared)
            const uint32_t B_shared_l1 = get_write_ptr(cb_B_shared);
            for (uint32_t i = 0; i < B_shared_rows; ++i) {
                noc_async_read_page((bx * B_shared_rows + i) * B_tile_cols + k, B,
                    B_shared_l1 + i * B_shared_tile_bytes);
            }
            noc_async_read_barrier();
            cb_push_back(cb_A_shared, A_shared_tiles);
            cb_push_back(cb_B_shared, B_shared_tiles);
        }
    }
}
