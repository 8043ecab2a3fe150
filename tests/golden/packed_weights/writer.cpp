// writer of 'packed_weights' for Wormhole: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_c = tt::CBIndex::c_16;  // 2 blocks of 1 x 2 tiles, Float32
constexpr uint32_t c_cols = 2, c_tiles = c_cols;
constexpr uint32_t C_tile_cols = 2;  // tensor C, in tiles

void kernel_main() {
    const uint32_t C_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_start = get_arg_val<uint32_t>(1);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core

    constexpr auto C_args = TensorAccessorArgs<0>();
    const auto C = TensorAccessor(C_args, C_addr);
    constexpr uint32_t c_tile_bytes = get_tile_size(cb_c);

    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit;
        cb_wait_front(cb_c, c_tiles);
        // kernel.py:29  T.copy(c, C[by * 32, 0])
        const uint32_t c_l1 = get_read_ptr(cb_c);
        for (uint32_t j = 0; j < c_cols; ++j) noc_async_write_page(bx * C_tile_cols + j, C, c_l1 + j * c_tile_bytes);
        noc_async_writes_flushed();
        cb_pop_front(cb_c, c_tiles);
    }
    noc_async_write_barrier();
}
