// writer of 'triangle' for Blackhole, units: list: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_c = tt::CBIndex::c_16;  // 2 blocks of 1 x 2 tiles, Float32
constexpr uint32_t c_cols = 2, c_tiles = c_cols;
constexpr uint32_t C_tile_rows = 8, C_tile_cols = 2;  // tensor C, in tiles

void kernel_main() {
    const uint32_t C_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_count = get_arg_val<uint32_t>(1);  // units of work of this core
    constexpr uint32_t unit_list = 2;  // from this argument on: the blocks of this core, numbered row by row

    constexpr auto C_args = TensorAccessorArgs<0>();
    const auto C = TensorAccessor(C_args, C_addr);
    constexpr uint32_t c_tile_bytes = get_tile_size(cb_c);

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        const uint32_t block = get_arg_val<uint32_t>(unit_list + unit);
        const uint32_t bx_member = block % 4;
        const uint32_t bx_group = block % 8 / 4;
        const uint32_t by = block / 8;
        cb_wait_front(cb_c, c_tiles);
        // kernel.py:21  T.copy(c, C[by, bx * 32, 0])
        const uint32_t c_l1 = get_read_ptr(cb_c);
        for (uint32_t j = 0; j < c_cols; ++j) {
            noc_async_write_page((by * C_tile_rows + bx_group * 4 + bx_member) * C_tile_cols + j, C,
                c_l1 + j * c_tile_bytes);
        }
        noc_async_writes_flushed();
        cb_pop_front(cb_c, c_tiles);
    }
    noc_async_write_barrier();
}
