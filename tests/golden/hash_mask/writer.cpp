// writer of 'hash_mask' for Wormhole: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_x_out = tt::CBIndex::c_16;  // 2 blocks of 2 x 1 tiles, Float32
constexpr uint32_t x_out_rows = 2, x_out_tiles = x_out_rows;

void kernel_main() {
    const uint32_t Y_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_count = get_arg_val<uint32_t>(1);  // units of work of this core

    constexpr auto Y_args = TensorAccessorArgs<0>();
    const auto Y = TensorAccessor(Y_args, Y_addr);
    constexpr uint32_t x_out_tile_bytes = get_tile_size(cb_x_out);

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_wait_front(cb_x_out, x_out_tiles);
        // kernel.py:24  T.copy(x, Y)
        const uint32_t x_out_l1 = get_read_ptr(cb_x_out);
        for (uint32_t i = 0; i < x_out_rows; ++i) noc_async_write_page(i, Y, x_out_l1 + i * x_out_tile_bytes);
        noc_async_writes_flushed();
        cb_pop_front(cb_x_out, x_out_tiles);
    }
    noc_async_write_barrier();
}
