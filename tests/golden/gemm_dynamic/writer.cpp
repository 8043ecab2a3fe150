// writer of 'matmul' for Blackhole: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_C_local_out = tt::CBIndex::c_16;  // 2 blocks of 4 x 2 tiles, Float16_b
constexpr uint32_t C_local_out_rows = 4, C_local_out_cols = 2, C_local_out_tiles = C_local_out_rows * C_local_out_cols;

void kernel_main() {
    const uint32_t C_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_start = get_arg_val<uint32_t>(1);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core
    const uint32_t n_blocks_64 = get_arg_val<uint32_t>(3);  // (n + 63) // 64
    const uint32_t m_tiles = get_arg_val<uint32_t>(4);  // (m + 31) // 32
    const uint32_t n_tiles = get_arg_val<uint32_t>(5);  // (n + 31) // 32

    constexpr auto C_args = TensorAccessorArgs<0>();
    const auto C = TensorAccessor(C_args, C_addr);
    constexpr uint32_t C_local_out_tile_bytes = get_tile_size(cb_C_local_out);

    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit % n_blocks_64;
        const uint32_t by = unit / n_blocks_64;
        cb_wait_front(cb_C_local_out, C_local_out_tiles);
        // kernel.py:21  T.copy(C_local, C[by * 128, bx * 64])
        const uint32_t C_local_out_l1 = get_read_ptr(cb_C_local_out);
        for (uint32_t i = 0; i < C_local_out_rows; ++i) {
            for (uint32_t j = 0; j < C_local_out_cols; ++j) {
                if (by * C_local_out_rows + i < m_tiles && bx * C_local_out_cols + j < n_tiles) {
                    noc_async_write_page((by * C_local_out_rows + i) * n_tiles + bx * C_local_out_cols + j, C,
                        C_local_out_l1 + (i * C_local_out_cols + j) * C_local_out_tile_bytes);
                }
            }
        }
        noc_async_writes_flushed();
        cb_pop_front(cb_C_local_out, C_local_out_tiles);
    }
    noc_async_write_barrier();
}
