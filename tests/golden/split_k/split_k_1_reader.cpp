// reader of 'split_k_1' for Wormhole: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_A_s = tt::CBIndex::c_0;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t A_s_rows = 2, A_s_tiles = A_s_rows;
constexpr uint32_t cb_B_s = tt::CBIndex::c_1;  // 2 blocks of 1 x 2 tiles, Float16_b
constexpr uint32_t B_s_cols = 2, B_s_tiles = B_s_cols;
constexpr uint32_t cb_C_tile = tt::CBIndex::c_2;  // 2 blocks of 2 x 2 tiles, Float32
constexpr uint32_t C_tile_rows = 2, C_tile_cols = 2, C_tile_tiles = C_tile_rows * C_tile_cols;
constexpr uint32_t cb_stored = tt::CBIndex::c_17;  // no data: a word of the writer for the reader
constexpr uint32_t A_tile_cols = 8;  // tensor A, in tiles
constexpr uint32_t B_tile_cols = 4;  // tensor B, in tiles
constexpr uint32_t C_tile_cols_1 = 4;  // tensor C, in tiles

void kernel_main() {
    const uint32_t A_addr = get_arg_val<uint32_t>(0);
    const uint32_t B_addr = get_arg_val<uint32_t>(1);
    const uint32_t C_addr = get_arg_val<uint32_t>(2);
    const uint32_t unit_start = get_arg_val<uint32_t>(3);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(4);  // units of work of this core

    constexpr auto A_args = TensorAccessorArgs<0>();
    const auto A = TensorAccessor(A_args, A_addr);
    constexpr auto B_args = TensorAccessorArgs<A_args.next_compile_time_args_offset()>();
    const auto B = TensorAccessor(B_args, B_addr);
    constexpr auto C_args = TensorAccessorArgs<B_args.next_compile_time_args_offset()>();
    const auto C = TensorAccessor(C_args, C_addr);
    constexpr uint32_t A_s_tile_bytes = get_tile_size(cb_A_s);
    constexpr uint32_t B_s_tile_bytes = get_tile_size(cb_B_s);
    constexpr uint32_t C_tile_tile_bytes = get_tile_size(cb_C_tile);

    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit % 2;
        const uint32_t by = unit / 2;
        // kernel.py:16  with T.Kernel(2, 2, 4, threads=128) as (bx, by, bz):
        for (uint32_t bz = 0; bz < 4; ++bz) {
            // kernel.py:21  for k in T.Pipelined(2, num_stages=2):
            for (uint32_t k = 0; k < 2; ++k) {
                cb_reserve_back(cb_A_s, A_s_tiles);
                cb_reserve_back(cb_B_s, B_s_tiles);
                // kernel.py:22  T.copy(A[by * 64, bz * 64 + k * 32], A_s)
                const uint32_t A_s_l1 = get_write_ptr(cb_A_s);
                for (uint32_t i = 0; i < A_s_rows; ++i) {
                    noc_async_read_page((by * A_s_rows + i) * A_tile_cols + bz * 2 + k, A, A_s_l1 + i * A_s_tile_bytes);
                }
                // kernel.py:23  T.copy(B[bz * 64 + k * 32, bx * 64], B_s)
                const uint32_t B_s_l1 = get_write_ptr(cb_B_s);
                for (uint32_t j = 0; j < B_s_cols; ++j) {
                    noc_async_read_page((bz * 2 + k) * B_tile_cols + bx * B_s_cols + j, B, B_s_l1 + j * B_s_tile_bytes);
                }
                noc_async_read_barrier();
                cb_push_back(cb_A_s, A_s_tiles);
                cb_push_back(cb_B_s, B_s_tiles);
            }
            cb_wait_front(cb_stored, 1);  // until all stores above are done
            cb_pop_front(cb_stored, 1);
            cb_reserve_back(cb_C_tile, C_tile_tiles);
            // kernel.py:25  T.atomic_add(C[by * 64, bx * 64], acc)
            const uint32_t C_tile_l1 = get_write_ptr(cb_C_tile);
            for (uint32_t i = 0; i < C_tile_rows; ++i) {
                for (uint32_t j = 0; j < C_tile_cols; ++j) {
                    noc_async_read_page((by * C_tile_rows + i) * C_tile_cols_1 + bx * C_tile_cols + j, C,
                        C_tile_l1 + (i * C_tile_cols + j) * C_tile_tile_bytes);
                }
            }
            noc_async_read_barrier();
            cb_push_back(cb_C_tile, C_tile_tiles);
        }
    }
}
