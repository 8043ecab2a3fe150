// writer of 'matmul' for Wormhole, units: rectangle: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_C_local_out = tt::CBIndex::c_16;  // 2 blocks of 4 x 4 tiles, Float16_b

void kernel_main() {
    const uint32_t C_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_count = get_arg_val<uint32_t>(1);  // units of work of this core
    const uint32_t first_column = get_arg_val<uint32_t>(2);  // first column of this core's blocks
    const uint32_t columns = get_arg_val<uint32_t>(3);  // columns of blocks of this core
    const uint32_t first_row = get_arg_val<uint32_t>(4);  // first row of this core's blocks

    constexpr auto C_args = TensorAccessorArgs<0>();
    const auto C = TensorAccessor(C_args, C_addr);
    constexpr uint32_t C_local_out_tile_bytes = get_tile_size(cb_C_local_out);

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        const uint32_t bx = first_column + unit % columns;
        const uint32_t by = first_row + unit / columns;
        cb_wait_front(cb_C_local_out, 16);
        // kernel.py:21  T.copy(C_local, C[by * 128, bx * 128])
        const uint32_t C_local_out_l1 = get_read_ptr(cb_C_local_out);
        for (uint32_t i = 0; i < 4; ++i) {
            for (uint32_t j = 0; j < 4; ++j) {
                noc_async_write_page((by * 4 + i) * 32 + bx * 4 + j, C, C_local_out_l1 + (i * 4 + j) * C_local_out_tile_bytes);
            }
        }
        noc_async_writes_flushed();
        cb_pop_front(cb_C_local_out, 16);
    }
    noc_async_write_barrier();
}
