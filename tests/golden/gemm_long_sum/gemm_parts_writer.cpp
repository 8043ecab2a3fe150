// writer of 'gemm_parts' for Wormhole, units: match: hands over shards that lie in L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_C_local = tt::CBIndex::c_16;  // 1 x 2 tiles, Float32, in place: this core's shard of C_local_parts
constexpr uint32_t C_local_tiles = 2;

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_wait_front(cb_C_local, C_local_tiles);
        // kernel.py:23  for k in T.Pipelined(K // BLOCK_K, num_stages=2):
        cb_pop_front(cb_C_local, C_local_tiles);
    }
}
