// writer of 'four_products' for Wormhole: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_fourth = tt::CBIndex::c_16;  // 8 x 8 tiles, Float32
constexpr uint32_t fourth_rows = 8, fourth_cols = 8, fourth_tiles = fourth_rows * fourth_cols;
constexpr uint32_t C_tile_cols = 8;  // tensor C, in tiles

void kernel_main() {
    const uint32_t C_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_count = get_arg_val<uint32_t>(1);  // units of work of this core

    constexpr auto C_args = TensorAccessorArgs<0>();
    const auto C = TensorAccessor(C_args, C_addr);
    constexpr uint32_t fourth_tile_bytes = get_tile_size(cb_fourth);

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_wait_front(cb_fourth, fourth_tiles);
        // kernel.py:26  T.copy(fourth, C)
        const uint32_t fourth_l1 = get_read_ptr(cb_fourth);
        for (uint32_t i = 0; i < fourth_rows; ++i) {
            for (uint32_t j = 0; j < fourth_cols; ++j) {
                noc_async_write_page(i * C_tile_cols + j, C, fourth_l1 + (i * fourth_cols + j) * fourth_tile_bytes);
            }
        }
        noc_async_writes_flushed();
        cb_pop_front(cb_fourth, fourth_tiles);
    }
    noc_async_write_barrier();
}
