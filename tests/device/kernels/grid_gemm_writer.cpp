#include <cstdint>

#include "api/dataflow/dataflow_buffer.h"
#include "api/tensor/noc_traits.h"

void kernel_main() {
    constexpr auto layout = TensorAccessorArgs<0>();
    const TensorAccessor c(layout, get_arg_val<uint32_t>(0));
    const Noc noc;
    DataflowBuffer out(16);
    out.wait_front(1);
    noc.async_write(out, c, out.get_entry_size(), {}, {.page_id = get_arg_val<uint32_t>(1)});
    noc.async_write_barrier();
    out.pop_front(1);
}
