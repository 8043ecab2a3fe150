// writer of 'chunk_states' for Wormhole: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_state_out = tt::CBIndex::c_16;  // 2 blocks of 2 x 2 tiles, Float32
constexpr uint32_t state_out_rows = 2, state_out_cols = 2, state_out_tiles = state_out_rows * state_out_cols;
constexpr uint32_t H_tile_cols = 2;  // tensor H, in tiles

void kernel_main() {
    const uint32_t H_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_count = get_arg_val<uint32_t>(1);  // units of work of this core

    constexpr auto H_args = TensorAccessorArgs<0>();
    const auto H = TensorAccessor(H_args, H_addr);
    constexpr uint32_t state_out_tile_bytes = get_tile_size(cb_state_out);

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        // kernel.py:17  for n in T.serial(CHUNKS):
        for (uint32_t n = 0; n < 4; ++n) {
            cb_wait_front(cb_state_out, state_out_tiles);
            // kernel.py:18  T.copy(state, H[n * SIZE, 0])
            const uint32_t state_out_l1 = get_read_ptr(cb_state_out);
            for (uint32_t i = 0; i < state_out_rows; ++i) {
                for (uint32_t j = 0; j < state_out_cols; ++j) {
                    noc_async_write_page((n * state_out_rows + i) * H_tile_cols + j, H,
                        state_out_l1 + (i * state_out_cols + j) * state_out_tile_bytes);
                }
            }
            noc_async_writes_flushed();
            cb_pop_front(cb_state_out, state_out_tiles);
        }
    }
    noc_async_write_barrier();
}
