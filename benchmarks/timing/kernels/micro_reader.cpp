// Batches of tiles from up to four tensors: reserve, read, barrier, push, one batch after the other.
// Runtime arguments: four addresses, the number of batches, then of each: tensor, buffer, first tile, step, tiles.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

template <typename Accessor>
void read_batch(const Accessor& tensor, uint32_t buffer, uint32_t tile, uint32_t step, uint32_t tiles) {
    cb_reserve_back(buffer, tiles);
    uint32_t place = get_write_ptr(buffer);
    for (uint32_t i = 0; i < tiles; ++i, tile += step, place += get_tile_size(buffer)) noc_async_read_tile(tile, tensor, place);
    noc_async_read_barrier();
    cb_push_back(buffer, tiles);
}

void kernel_main() {
    constexpr auto args0 = TensorAccessorArgs<0>();
    constexpr auto args1 = TensorAccessorArgs<args0.next_compile_time_args_offset()>();
    constexpr auto args2 = TensorAccessorArgs<args1.next_compile_time_args_offset()>();
    constexpr auto args3 = TensorAccessorArgs<args2.next_compile_time_args_offset()>();
    const auto tensor0 = TensorAccessor(args0, get_arg_val<uint32_t>(0));
    const auto tensor1 = TensorAccessor(args1, get_arg_val<uint32_t>(1));
    const auto tensor2 = TensorAccessor(args2, get_arg_val<uint32_t>(2));
    const auto tensor3 = TensorAccessor(args3, get_arg_val<uint32_t>(3));
    // As a list in L1: what it takes to fetch them is no part of the benchmark that this stands for.
    const auto* list = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_arg_addr(5));
    const uint32_t batches = get_arg_val<uint32_t>(4);
    for (uint32_t batch = 0; batch < batches; ++batch, list += 5) {
        const uint32_t which = list[0], buffer = list[1], first = list[2], step = list[3], tiles = list[4];
        if (which == 0) read_batch(tensor0, buffer, first, step, tiles);
        else if (which == 1) read_batch(tensor1, buffer, first, step, tiles);
        else if (which == 2) read_batch(tensor2, buffer, first, step, tiles);
        else read_batch(tensor3, buffer, first, step, tiles);
    }
}
