// writer of 'sharded_residual' for Wormhole, units: match: hands over shards that lie in L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_y = tt::CBIndex::c_16;  // 2 x 2 tiles, Float16_b, in place: this core's shard of Y
constexpr uint32_t y_tiles = 2 * 2;

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_wait_front(cb_y, y_tiles);
        // kernel.py:27  T.copy(y, Y[by * BLOCK_ROWS, bx * BLOCK_COLS])
        cb_pop_front(cb_y, y_tiles);
    }
}
