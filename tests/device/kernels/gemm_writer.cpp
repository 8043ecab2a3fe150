// Writes finished blocks; tiles outside the result are dropped.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t block_m = get_compile_time_arg_val(0);
constexpr uint32_t block_n = get_compile_time_arg_val(1);
constexpr auto layout = TensorAccessorArgs<2>();
constexpr uint32_t cb_out = tt::CBIndex::c_16;

void kernel_main() {
    const TensorAccessor out(layout, get_arg_val<uint32_t>(0));
    const uint32_t first = get_arg_val<uint32_t>(1);
    const uint32_t count = get_arg_val<uint32_t>(2);
    const uint32_t rows = get_arg_val<uint32_t>(3);
    const uint32_t cols = get_arg_val<uint32_t>(4);
    const uint32_t blocks_across = (cols + block_n - 1) / block_n;

    for (uint32_t unit = first; unit < first + count; ++unit) {
        const uint32_t row0 = unit / blocks_across * block_m;
        const uint32_t col0 = unit % blocks_across * block_n;
        cb_wait_front(cb_out, block_m * block_n);
        uint32_t from = get_read_ptr(cb_out);
        for (uint32_t r = row0; r < row0 + block_m; ++r) {
            for (uint32_t c = col0; c < col0 + block_n; ++c, from += get_tile_size(cb_out)) {
                if (r < rows && c < cols) {
                    noc_async_write_page(r * cols + c, out, from);
                }
            }
        }
        noc_async_writes_flushed();
        cb_pop_front(cb_out, block_m * block_n);
    }
    noc_async_write_barrier();
}
