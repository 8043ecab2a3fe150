// Pages of CB 0 to a slice of a tensor.
#include <cstdint>

#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    constexpr auto layout = TensorAccessorArgs<0>();
    const TensorAccessor target(layout, get_arg_val<uint32_t>(0));
    const uint32_t first = get_arg_val<uint32_t>(1), pages = get_arg_val<uint32_t>(2);
    for (uint32_t page = first; page < first + pages; ++page) {
        cb_wait_front(0, 1);
        noc_async_write_page(page, target, get_read_ptr(0));
        noc_async_writes_flushed();
        cb_pop_front(0, 1);
    }
    noc_async_write_barrier();
}
