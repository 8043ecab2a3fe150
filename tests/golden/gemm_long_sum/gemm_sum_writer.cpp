// writer of 'gemm_sum' for Wormhole, units: match: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_C_local_out = tt::CBIndex::c_16;  // 2 blocks of 1 x 1 tiles, Float16_b

void kernel_main() {
    const uint32_t C_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_count = get_arg_val<uint32_t>(1);  // units of work of this core
    const uint32_t first_column = get_arg_val<uint32_t>(2);  // first column of this core's blocks
    const uint32_t columns = get_arg_val<uint32_t>(3);  // columns of blocks of this core

    constexpr auto C_args = TensorAccessorArgs<0>();
    const auto C = TensorAccessor(C_args, C_addr);
    constexpr uint32_t C_local_out_tile_bytes = get_tile_size(cb_C_local_out);

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        const uint32_t bx = first_column + unit % columns;
        cb_wait_front(cb_C_local_out, 1);
        // kernel.py:30  T.copy(C_local, C[by * BLOCK_M, bx * BLOCK_N])
        const uint32_t C_local_out_l1 = get_read_ptr(cb_C_local_out);
        noc_async_write_page(bx, C, C_local_out_l1);
        noc_async_writes_flushed();
        cb_pop_front(cb_C_local_out, 1);
    }
    noc_async_write_barrier();
}
