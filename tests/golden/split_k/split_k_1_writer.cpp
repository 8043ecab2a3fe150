// writer of 'split_k_1' for Wormhole: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_C_tile_1 = tt::CBIndex::c_16;  // 2 blocks of 2 x 2 tiles, Float32
constexpr uint32_t C_tile_1_rows = 2, C_tile_1_cols = 2, C_tile_1_tiles = C_tile_1_rows * C_tile_1_cols;
constexpr uint32_t cb_stored = tt::CBIndex::c_17;  // no data: a word of the writer for the reader
constexpr uint32_t C_tile_cols = 4;  // tensor C, in tiles

void kernel_main() {
    const uint32_t C_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_start = get_arg_val<uint32_t>(1);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core

    constexpr auto C_args = TensorAccessorArgs<0>();
    const auto C = TensorAccessor(C_args, C_addr);
    constexpr uint32_t C_tile_1_tile_bytes = get_tile_size(cb_C_tile_1);

    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit % 2;
        const uint32_t by = unit / 2;
        // kernel.py:16  with T.Kernel(2, 2, 4, threads=128) as (bx, by, bz):
        for (uint32_t bz = 0; bz < 4; ++bz) {
            noc_async_write_barrier();
            cb_reserve_back(cb_stored, 1);
            cb_push_back(cb_stored, 1);
            cb_wait_front(cb_C_tile_1, C_tile_1_tiles);
            // kernel.py:25  T.atomic_add(C[by * 64, bx * 64], acc)
            const uint32_t C_tile_1_l1 = get_read_ptr(cb_C_tile_1);
            for (uint32_t i = 0; i < C_tile_1_rows; ++i) {
                for (uint32_t j = 0; j < C_tile_1_cols; ++j) {
                    noc_async_write_page((by * C_tile_1_rows + i) * C_tile_cols + bx * C_tile_1_cols + j, C,
                        C_tile_1_l1 + (i * C_tile_1_cols + j) * C_tile_1_tile_bytes);
                }
            }
            noc_async_writes_flushed();
            cb_pop_front(cb_C_tile_1, C_tile_1_tiles);
        }
    }
    noc_async_write_barrier();
}
