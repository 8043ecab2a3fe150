// Reads of DRAM pages, or writes to them, by one core or by all at once; timed from the first issue to the barrier.
// STRIDE 1 goes round the banks, 0 stays in one. As in the SDK's test a core begins once it has read that all have come:
// it asks the first core over the NoC, again and again.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
#include "api/dataflow/endpoints.h"
#include "api/dataflow/noc.h"
#include "api/tensor/tensor_accessor.h"
#include "api/tensor/noc_traits.h"
#include "tools/profiler/kernel_profiler.hpp"

constexpr bool writes = get_compile_time_arg_val(0) != 0;
constexpr uint32_t pages = get_compile_time_arg_val(1);
constexpr uint32_t stride = get_compile_time_arg_val(2);
constexpr uint32_t cores = get_compile_time_arg_val(3);

void start_together(uint32_t leader_x, uint32_t leader_y, uint32_t scratch) {
    const uint64_t arrived = get_noc_addr(leader_x, leader_y, get_semaphore(0));
    noc_semaphore_inc(arrived, 1);
    noc_async_atomic_barrier();
    auto* seen = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(scratch);
    *seen = 0;
    while (*seen < cores) {
        noc_async_read(arrived, scratch, sizeof(uint32_t));
        noc_async_read_barrier();
    }
}

void kernel_main() {
    const uint32_t tensor = get_arg_val<uint32_t>(0), local = get_arg_val<uint32_t>(1), first = get_arg_val<uint32_t>(2);
    const auto accessor = TensorAccessor(TensorAccessorArgs<4>(), tensor);
    const uint32_t count = get_arg_val<uint32_t>(6), bytes = get_arg_val<uint32_t>(7);
    Noc noc(noc_index);
    UnicastEndpoint here;
    start_together(get_arg_val<uint32_t>(3), get_arg_val<uint32_t>(4), get_arg_val<uint32_t>(5));
    DeviceZoneScopedN("transfers");
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t page = (first + i * stride) % pages;
        if constexpr (writes) noc.async_write(here, accessor, bytes, {.addr = local}, {.page_id = page});
        else noc.async_read(accessor, here, bytes, {.page_id = page}, {.addr = local});
    }
    if constexpr (writes) noc.async_write_barrier();
    else noc.async_read_barrier();
}
