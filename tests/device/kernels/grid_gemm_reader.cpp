// One output tile per core: rows of A travel along the grid's rows, columns of B down its columns. With objects.
#include <cstdint>

#include "api/dataflow/circular_buffer.h"
#include "api/dataflow/endpoints.h"
#include "api/dataflow/noc.h"
#include "api/semaphore.h"
#include "api/tensor/noc_traits.h"

constexpr uint32_t cols = get_compile_time_arg_val(0), rows = get_compile_time_arg_val(1);
constexpr uint32_t inner = get_compile_time_arg_val(2);

struct Line {
    uint32_t lead_x, lead_y, x0, y0, x1, y1, receivers;
};

template <typename Tensor>
void share(const Noc& noc, const Tensor& tensor, uint32_t page, uint32_t cb_id, bool leads, const Line& line,
           Semaphore<>& ready, Semaphore<>& valid) {
    CircularBuffer cb(cb_id);
    cb.reserve_back(1);
    const uint32_t bytes = cb.get_tile_size();
    if (!leads) {
        valid.set(INVALID);
        ready.up(noc, line.lead_x, line.lead_y, 1);
        valid.wait(VALID);
    } else {
        noc.async_read(tensor, cb, bytes, {.page_id = page}, {});
        noc.async_read_barrier();
        if (line.receivers > 0) {
            ready.wait(line.receivers);
            ready.set(0);
            noc.async_write_multicast(use<CircularBuffer::AddrSelector::WRITE_PTR>(cb), MulticastEndpoint{}, bytes,
                                      line.receivers, {},
                                      {.noc_x_start = line.x0, .noc_y_start = line.y0, .noc_x_end = line.x1,
                                       .noc_y_end = line.y1, .addr = cb.get_write_ptr()},
                                      true);
            noc.async_writes_flushed();
            valid.set_multicast(noc, line.x0, line.y0, line.x1, line.y1, line.receivers);
        }
    }
    cb.push_back(1);
}

void kernel_main() {
    const uint32_t x = get_absolute_logical_x(), y = get_absolute_logical_y();
    const Line row{get_arg_val<uint32_t>(2), get_arg_val<uint32_t>(3), get_arg_val<uint32_t>(4), get_arg_val<uint32_t>(5),
                   get_arg_val<uint32_t>(6), get_arg_val<uint32_t>(7), cols - 1};
    const Line col{get_arg_val<uint32_t>(8),  get_arg_val<uint32_t>(9),  get_arg_val<uint32_t>(10),
                   get_arg_val<uint32_t>(11), get_arg_val<uint32_t>(12), get_arg_val<uint32_t>(13), rows - 1};
    constexpr auto a_args = TensorAccessorArgs<3>();
    constexpr auto b_args = TensorAccessorArgs<a_args.next_compile_time_args_offset()>();
    const TensorAccessor a(a_args, get_arg_val<uint32_t>(0));
    const TensorAccessor b(b_args, get_arg_val<uint32_t>(1));
    const Noc noc;
    Semaphore<> a_ready(0), a_valid(1), b_ready(2), b_valid(3);
    if (x == 0) a_valid.set(VALID);
    if (y == 0) b_valid.set(VALID);
    for (uint32_t k = 0; k < inner; ++k) {
        share(noc, a, y * inner + k, 0, x == 0, row, a_ready, a_valid);
        share(noc, b, k * cols + x, 1, y == 0, col, b_ready, b_valid);
    }
    noc.async_full_barrier();
}
