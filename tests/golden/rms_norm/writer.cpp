// writer of 'rms_norm' for Wormhole: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_x_out = tt::CBIndex::c_16;  // 2 blocks of 1 x 8 tiles, Float16_b
constexpr uint32_t x_out_cols = 8, x_out_tiles = x_out_cols;
constexpr uint32_t Y_tile_cols = 8;  // tensor Y, in tiles

void kernel_main() {
    const uint32_t Y_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_start = get_arg_val<uint32_t>(1);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core

    constexpr auto Y_args = TensorAccessorArgs<0>();
    const auto Y = TensorAccessor(Y_args, Y_addr);
    constexpr uint32_t x_out_tile_bytes = get_tile_size(cb_x_out);

    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit;
        cb_wait_front(cb_x_out, x_out_tiles);
        // kernel.py:24  T.copy(x, Y[bx * 32, 0])
        const uint32_t x_out_l1 = get_read_ptr(cb_x_out);
        for (uint32_t j = 0; j < x_out_cols; ++j) {
            noc_async_write_page(bx * Y_tile_cols + j, Y, x_out_l1 + j * x_out_tile_bytes);
        }
        noc_async_writes_flushed();
        cb_pop_front(cb_x_out, x_out_tiles);
    }
    noc_async_write_barrier();
}
