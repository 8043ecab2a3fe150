// writer of 'add_vectors' for Wormhole: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_a_out = tt::CBIndex::c_16;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t a_out_rows = 2, a_out_tiles = a_out_rows;

void kernel_main() {
    const uint32_t C_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_start = get_arg_val<uint32_t>(1);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core

    constexpr auto C_args = TensorAccessorArgs<0>();
    const auto C = TensorAccessor(C_args, C_addr);
    constexpr uint32_t a_out_tile_bytes = get_tile_size(cb_a_out);

    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit;
        cb_wait_front(cb_a_out, a_out_tiles);
        // kernel.py:18  T.copy(a, C[bx * BLOCK])
        const uint32_t a_out_l1 = get_read_ptr(cb_a_out);
        for (uint32_t i = 0; i < a_out_rows; ++i) {
            noc_async_write_page(bx * a_out_rows + i, C, a_out_l1 + i * a_out_tile_bytes);
        }
        noc_async_writes_flushed();
        cb_pop_front(cb_a_out, a_out_tiles);
    }
    noc_async_write_barrier();
}
