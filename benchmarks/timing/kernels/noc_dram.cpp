// Reads of DRAM pages, or writes to them, by one core or by all at once; timed from the first issue to the barrier.
// STRIDE 1 goes round the banks, 0 stays in one. All cores begin when the first has heard from every one.
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

void start_together(uint32_t leader, uint32_t leader_x, uint32_t leader_y) {
    if constexpr (cores == 1) return;
    const uint32_t arrived = get_semaphore(0), go = get_semaphore(1);
    noc_semaphore_inc(get_noc_addr(leader_x, leader_y, arrived), 1);
    noc_async_atomic_barrier();
    auto* mine = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(go);
    if (leader) {
        noc_semaphore_wait(reinterpret_cast<volatile tt_l1_ptr uint32_t*>(arrived), cores);
        noc_semaphore_set(mine, 1);
        const uint32_t x0 = get_arg_val<uint32_t>(6), y0 = get_arg_val<uint32_t>(7);
        const uint32_t x1 = get_arg_val<uint32_t>(8), y1 = get_arg_val<uint32_t>(9);
        noc_semaphore_set_multicast(go, get_noc_multicast_addr(x0, y0, x1, y1, go), cores - 1);
        noc_async_write_barrier();
    } else {
        noc_semaphore_wait(mine, 1);
    }
}

void kernel_main() {
    const uint32_t tensor = get_arg_val<uint32_t>(0), local = get_arg_val<uint32_t>(1), first = get_arg_val<uint32_t>(2);
    const auto accessor = TensorAccessor(TensorAccessorArgs<4>(), tensor);
    const uint32_t count = get_arg_val<uint32_t>(10), bytes = get_arg_val<uint32_t>(11);
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
