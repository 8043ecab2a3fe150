// writer of 'label_scores_1' for Wormhole, units: match: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_score = tt::CBIndex::c_16;  // 2 blocks of 1 x 1 tiles, Float32

void kernel_main() {
    const uint32_t scores_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_count = get_arg_val<uint32_t>(1);  // units of work of this core
    const uint32_t first_column = get_arg_val<uint32_t>(2);  // first column of this core's blocks

    constexpr auto scores_args = TensorAccessorArgs<0>();
    const auto scores = TensorAccessor(scores_args, scores_addr);
    constexpr uint32_t score_tile_bytes = get_tile_size(cb_score);

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        const uint32_t bx = first_column + unit;
        cb_wait_front(cb_score, 1);
        // kernel.py:29  T.copy(score, scores[bx * 32])
        const uint32_t score_l1 = get_read_ptr(cb_score);
        noc_async_write_page(bx, scores, score_l1);
        noc_async_writes_flushed();
        cb_pop_front(cb_score, 1);
    }
    noc_async_write_barrier();
}
