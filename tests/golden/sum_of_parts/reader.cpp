// reader of 'combine' for Wormhole: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_part = tt::CBIndex::c_0;  // 2 blocks of 2 x 2 tiles, Float32
constexpr uint32_t part_rows = 2, part_cols = 2, part_tiles = part_rows * part_cols;
constexpr uint32_t P_tile_rows = 8, P_tile_cols = 8;  // tensor P, in tiles

void kernel_main() {
    const uint32_t P_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_start = get_arg_val<uint32_t>(1);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core

    constexpr auto P_args = TensorAccessorArgs<0>();
    const auto P = TensorAccessor(P_args, P_addr);
    constexpr uint32_t part_tile_bytes = get_tile_size(cb_part);

    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit % 4;
        const uint32_t by = unit / 4;
        // kernel.py:14  for s in T.serial(4):
        for (uint32_t s = 0; s < 4; ++s) {
            cb_reserve_back(cb_part, part_tiles);
            // kernel.py:15  T.copy(P[s, by * 64, bx * 64], part)
            const uint32_t part_l1 = get_write_ptr(cb_part);
            for (uint32_t i = 0; i < part_rows; ++i) {
                for (uint32_t j = 0; j < part_cols; ++j) {
                    noc_async_read_page((s * P_tile_rows + by * part_rows + i) * P_tile_cols + bx * part_cols + j, P,
                        part_l1 + (i * part_cols + j) * part_tile_bytes);
                }
            }
            noc_async_read_barrier();
            cb_push_back(cb_part, part_tiles);
        }
    }
}
