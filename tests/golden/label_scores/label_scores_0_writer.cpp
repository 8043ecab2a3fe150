// writer of 'label_scores_0' for Wormhole: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_most_end = tt::CBIndex::c_16;  // 2 blocks of 1 x 1 tiles, Float32

void kernel_main() {
    const uint32_t largest_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_start = get_arg_val<uint32_t>(1);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core

    constexpr auto largest_args = TensorAccessorArgs<0>();
    const auto largest = TensorAccessor(largest_args, largest_addr);
    constexpr uint32_t most_end_tile_bytes = get_tile_size(cb_most_end);

    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit;
        cb_wait_front(cb_most_end, 1);
        // kernel.py:19  T.copy(most, largest[bx * 32])
        const uint32_t most_end_l1 = get_read_ptr(cb_most_end);
        noc_async_write_page(bx, largest, most_end_l1);
        noc_async_writes_flushed();
        cb_pop_front(cb_most_end, 1);
    }
    noc_async_write_barrier();
}
