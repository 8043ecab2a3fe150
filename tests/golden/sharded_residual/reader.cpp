// reader of 'sharded_residual' for Wormhole, units: match: hands over shards that lie in L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_x = tt::CBIndex::c_0;  // 2 x 2 tiles, Float16_b, in place: this core's shard of X
constexpr uint32_t x_tiles = 2 * 2;
constexpr uint32_t cb_r = tt::CBIndex::c_1;  // 2 x 2 tiles, Float16_b, in place: this core's shard of R
constexpr uint32_t r_tiles = 2 * 2;

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_reserve_back(cb_x, x_tiles);
        cb_reserve_back(cb_r, r_tiles);
        // kernel.py:23  T.copy(X[by * BLOCK_ROWS, bx * BLOCK_COLS], x)
        // kernel.py:24  T.copy(R[by * BLOCK_ROWS, bx * BLOCK_COLS], r)
        cb_push_back(cb_x, x_tiles);
        cb_push_back(cb_r, r_tiles);
    }
}
