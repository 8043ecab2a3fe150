// The first core reads pages and multicasts them to the others; every core hands them on in CB 0.
#include <cstdint>

#include "api/dataflow/dataflow_api.h"

using semaphore_ptr = volatile tt_l1_ptr uint32_t*;

void kernel_main() {
    constexpr uint32_t cb = 0, page_bytes = get_tile_size(cb);
    constexpr auto layout = TensorAccessorArgs<0>();
    const TensorAccessor source(layout, get_arg_val<uint32_t>(0));
    const uint32_t pages = get_arg_val<uint32_t>(1), receivers = get_arg_val<uint32_t>(2);
    const bool sends = get_arg_val<uint32_t>(3) != 0;
    const uint32_t sender_x = get_arg_val<uint32_t>(4), sender_y = get_arg_val<uint32_t>(5);
    const uint32_t x0 = get_arg_val<uint32_t>(6), y0 = get_arg_val<uint32_t>(7);
    const uint32_t x1 = get_arg_val<uint32_t>(8), y1 = get_arg_val<uint32_t>(9);
    const uint32_t ready = get_semaphore(0), valid = get_semaphore(1);
    const auto ready_ptr = reinterpret_cast<semaphore_ptr>(ready), valid_ptr = reinterpret_cast<semaphore_ptr>(valid);

    if (sends) noc_semaphore_set(valid_ptr, VALID);
    for (uint32_t page = 0; page < pages; ++page) {
        cb_reserve_back(cb, 1);
        const uint32_t l1 = get_write_ptr(cb);
        if (sends) {
            noc_async_read_page(page, source, l1);
            noc_async_read_barrier();
            noc_semaphore_wait(ready_ptr, receivers);
            noc_semaphore_set(ready_ptr, 0);
            noc_async_write_multicast(l1, get_noc_multicast_addr(x0, y0, x1, y1, l1), page_bytes, receivers, true);
            noc_async_writes_flushed();
            noc_semaphore_set_multicast(valid, get_noc_multicast_addr(x0, y0, x1, y1, valid), receivers);
            noc_async_writes_flushed();
        } else {
            noc_semaphore_set(valid_ptr, INVALID);
            noc_semaphore_inc(get_noc_addr(sender_x, sender_y, ready), 1);
            noc_semaphore_wait(valid_ptr, VALID);
        }
        cb_push_back(cb, 1);
    }
    noc_async_write_barrier();
    noc_async_atomic_barrier();
}
