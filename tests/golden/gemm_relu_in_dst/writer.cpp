// writer of 'matmul_relu' for Wormhole: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_C_local_out = tt::CBIndex::c_16;  // 2 blocks of 2 x 2 tiles, Float32
constexpr uint32_t C_local_out_rows = 2, C_local_out_cols = 2, C_local_out_tiles = C_local_out_rows * C_local_out_cols;
constexpr uint32_t C_tile_cols = 8;  // tensor C, in tiles

void kernel_main() {
    const uint32_t C_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_start = get_arg_val<uint32_t>(1);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core

    constexpr auto C_args = TensorAccessorArgs<0>();
    const auto C = TensorAccessor(C_args, C_addr);
    constexpr uint32_t C_local_out_tile_bytes = get_tile_size(cb_C_local_out);

    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit % 4;
        const uint32_t by = unit / 4;
        cb_wait_front(cb_C_local_out, C_local_out_tiles);
        // kernel.py:23  T.copy(C_local, C[by * 64, bx * 64])
        const uint32_t C_local_out_l1 = get_read_ptr(cb_C_local_out);
        for (uint32_t i = 0; i < C_local_out_rows; ++i) {
            for (uint32_t j = 0; j < C_local_out_cols; ++j) {
                noc_async_write_page((by * C_local_out_rows + i) * C_tile_cols + bx * C_local_out_cols + j, C,
                    C_local_out_l1 + (i * C_local_out_cols + j) * C_local_out_tile_bytes);
            }
        }
        noc_async_writes_flushed();
        cb_pop_front(cb_C_local_out, C_local_out_tiles);
    }
    noc_async_write_barrier();
}
