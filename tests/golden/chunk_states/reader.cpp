// reader of 'chunk_states' for Wormhole: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_k = tt::CBIndex::c_0;  // 2 blocks of 2 x 2 tiles, Float32
constexpr uint32_t k_rows = 2, k_cols = 2, k_tiles = k_rows * k_cols;
constexpr uint32_t K_tile_cols = 2;  // tensor K, in tiles

void kernel_main() {
    const uint32_t K_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_count = get_arg_val<uint32_t>(1);  // units of work of this core

    constexpr auto K_args = TensorAccessorArgs<0>();
    const auto K = TensorAccessor(K_args, K_addr);
    constexpr uint32_t k_tile_bytes = get_tile_size(cb_k);

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        // kernel.py:17  for n in T.serial(CHUNKS):
        for (uint32_t n = 0; n < 4; ++n) {
            cb_reserve_back(cb_k, k_tiles);
            // kernel.py:19  T.copy(K[n * SIZE, 0], k)
            const uint32_t k_l1 = get_write_ptr(cb_k);
            for (uint32_t i = 0; i < k_rows; ++i) {
                for (uint32_t j = 0; j < k_cols; ++j) {
                    noc_async_read_page((n * k_rows + i) * K_tile_cols + j, K, k_l1 + (i * k_cols + j) * k_tile_bytes);
                }
            }
            noc_async_read_barrier();
            cb_push_back(cb_k, k_tiles);
        }
    }
}
