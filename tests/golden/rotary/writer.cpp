// writer of 'rotary' for Wormhole: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_turned_out = tt::CBIndex::c_16;  // 2 blocks of 1 x 2 tiles, Float32
constexpr uint32_t turned_out_cols = 2, turned_out_tiles = turned_out_cols;

void kernel_main() {
    const uint32_t Y_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_count = get_arg_val<uint32_t>(1);  // units of work of this core

    constexpr auto Y_args = TensorAccessorArgs<0>();
    const auto Y = TensorAccessor(Y_args, Y_addr);
    constexpr uint32_t turned_out_tile_bytes = get_tile_size(cb_turned_out);

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_wait_front(cb_turned_out, turned_out_tiles);
        // kernel.py:26  T.copy(turned, Y)
        const uint32_t turned_out_l1 = get_read_ptr(cb_turned_out);
        for (uint32_t j = 0; j < turned_out_cols; ++j) {
            noc_async_write_page(j, Y, turned_out_l1 + j * turned_out_tile_bytes);
        }
        noc_async_writes_flushed();
        cb_pop_front(cb_turned_out, turned_out_tiles);
    }
    noc_async_write_barrier();
}
