// writer of 'attention' for Wormhole: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_out_out = tt::CBIndex::c_16;  // 2 blocks of 2 x 2 tiles, Float16_b
constexpr uint32_t out_out_rows = 2, out_out_cols = 2, out_out_tiles = out_out_rows * out_out_cols;
constexpr uint32_t Out_tile_rows = 4, Out_tile_cols = 2;  // tensor Out, in tiles

void kernel_main() {
    const uint32_t Out_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_start = get_arg_val<uint32_t>(1);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core

    constexpr auto Out_args = TensorAccessorArgs<0>();
    const auto Out = TensorAccessor(Out_args, Out_addr);
    constexpr uint32_t out_out_tile_bytes = get_tile_size(cb_out_out);

    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit % 2;
        const uint32_t by = unit % 4 / 2;
        cb_wait_front(cb_out_out, out_out_tiles);
        // kernel.py:59  T.copy(out, Out[bz, bx * BLOCK : (bx + 1) * BLOCK, by, :])
        const uint32_t out_out_l1 = get_read_ptr(cb_out_out);
        for (uint32_t i = 0; i < out_out_rows; ++i) {
            for (uint32_t j = 0; j < out_out_cols; ++j) {
                noc_async_write_page((by * Out_tile_rows + bx * out_out_rows + i) * Out_tile_cols + j, Out,
                    out_out_l1 + (i * out_out_cols + j) * out_out_tile_bytes);
            }
        }
        noc_async_writes_flushed();
        cb_pop_front(cb_out_out, out_out_tiles);
    }
    noc_async_write_barrier();
}
