// The result, all tiles at once, when compute is done.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    const auto out = TensorAccessor(TensorAccessorArgs<0>(), get_arg_val<uint32_t>(0));
    const uint32_t tiles = get_arg_val<uint32_t>(1);
    cb_wait_front(16, tiles);
    uint32_t place = get_read_ptr(16);
    for (uint32_t tile = 0; tile < tiles; ++tile, place += get_tile_size(16)) noc_async_write_tile(tile, out, place);
    noc_async_write_barrier();
    cb_pop_front(16, tiles);
}
