// writer of 'split_k_0' for Wormhole: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_zeros = tt::CBIndex::c_16;  // 2 blocks of 2 x 2 tiles, Float32
constexpr uint32_t zeros_rows = 2, zeros_cols = 2, zeros_tiles = zeros_rows * zeros_cols;
constexpr uint32_t C_tile_cols = 4;  // tensor C, in tiles

void kernel_main() {
    const uint32_t C_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_start = get_arg_val<uint32_t>(1);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core

    constexpr auto C_args = TensorAccessorArgs<0>();
    const auto C = TensorAccessor(C_args, C_addr);
    constexpr uint32_t zeros_tile_bytes = get_tile_size(cb_zeros);

    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit % 2;
        const uint32_t by = unit / 2;
        cb_wait_front(cb_zeros, zeros_tiles);
        // kernel.py:15  T.copy(zeros, C[by * 64, bx * 64])
        const uint32_t zeros_l1 = get_read_ptr(cb_zeros);
        for (uint32_t i = 0; i < zeros_rows; ++i) {
            for (uint32_t j = 0; j < zeros_cols; ++j) {
                noc_async_write_page((by * zeros_rows + i) * C_tile_cols + bx * zeros_cols + j, C,
                    zeros_l1 + (i * zeros_cols + j) * zeros_tile_bytes);
            }
        }
        noc_async_writes_flushed();
        cb_pop_front(cb_zeros, zeros_tiles);
    }
    noc_async_write_barrier();
}
