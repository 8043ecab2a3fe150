// reader of 'triangle' for Blackhole, units: list: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_a = tt::CBIndex::c_0;  // 2 blocks of 1 x 1 tiles, Float16_b
constexpr uint32_t cb_b = tt::CBIndex::c_1;  // 2 blocks of 1 x 2 tiles, Float16_b
constexpr uint32_t b_cols = 2, b_tiles = b_cols;
constexpr uint32_t B_tile_rows = 8, B_tile_cols = 2;  // tensor B, in tiles
constexpr uint32_t A_tile_rows = 8, A_tile_cols = 8;  // tensor A, in tiles

// How blocks that several cores need come to this one: it reads them, and sends them to the others of its group; or one
// of these does, and this core receives them. All of them keep a block at the same place in L1.
//   ready   counts, at the sender, the receivers that have room for the next block
//   valid   is 1, at a receiver, when the block is there; at the sender always, as it is what is sent
struct Delivery {
    uint32_t reads, from_x, from_y, receivers, first_x, first_y, last_x, last_y, ready, valid;

    Delivery(uint32_t arg, uint32_t ready_id, uint32_t valid_id)
        : reads(get_arg_val<uint32_t>(arg)),
          from_x(get_arg_val<uint32_t>(arg + 1)),
          from_y(get_arg_val<uint32_t>(arg + 2)),
          receivers(get_arg_val<uint32_t>(arg + 3)),
          first_x(get_arg_val<uint32_t>(arg + 4)),
          first_y(get_arg_val<uint32_t>(arg + 5)),
          last_x(get_arg_val<uint32_t>(arg + 6)),
          last_y(get_arg_val<uint32_t>(arg + 7)),
          ready(get_semaphore(ready_id)),
          valid(get_semaphore(valid_id)) {}

    // There is room for the next block.
    void ask() const {
        if (reads != 0) return;
        noc_semaphore_set(word(valid), 0);
        noc_semaphore_inc(get_noc_addr(from_x, from_y, ready), 1);
    }

    // The block at `l1`, which was read, goes to all receivers; it has left L1 before they are told.
    void send(uint32_t l1, uint32_t bytes) const {
        if (receivers == 0) return;
        noc_semaphore_wait(word(ready), receivers);
        noc_semaphore_set(word(ready), 0);
        noc_async_write_multicast(l1, all(l1), bytes, receivers, /*linked*/ true);
        noc_async_writes_flushed();
        noc_semaphore_set_multicast(valid, all(valid), receivers);
    }

    // The block is there.
    void take() const {
        if (reads == 0) noc_semaphore_wait(word(valid), 1);
    }

    uint64_t all(uint32_t l1) const { return get_noc_multicast_addr(first_x, first_y, last_x, last_y, l1); }
    static volatile tt_l1_ptr uint32_t* word(uint32_t l1) {
        return reinterpret_cast<volatile tt_l1_ptr uint32_t*>(l1);
    }
};

void kernel_main() {
    const uint32_t B_addr = get_arg_val<uint32_t>(0);
    const uint32_t A_addr = get_arg_val<uint32_t>(1);
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core
    const Delivery b_delivery(/*first argument*/ 3, /*semaphores*/ 0, 1);
    constexpr uint32_t unit_list = 11;  // from this argument on: the blocks of this core, numbered row by row

    constexpr auto B_args = TensorAccessorArgs<0>();
    const auto B = TensorAccessor(B_args, B_addr);
    constexpr auto A_args = TensorAccessorArgs<B_args.next_compile_time_args_offset()>();
    const auto A = TensorAccessor(A_args, A_addr);
    constexpr uint32_t a_tile_bytes = get_tile_size(cb_a);
    constexpr uint32_t b_tile_bytes = get_tile_size(cb_b);

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        const uint32_t block = get_arg_val<uint32_t>(unit_list + unit);
        const uint32_t bx_member = block % 4;
        const uint32_t bx_group = block % 8 / 4;
        const uint32_t by = block / 8;
        // kernel.py:17  for k in T.Pipelined(bx + 1, num_stages=2):
        for (uint32_t k = 0; k < bx_group * 4 + 4; ++k) {
            cb_reserve_back(cb_b, b_tiles);
            b_delivery.ask();
            // kernel.py:19  T.copy(B[by, k * 32, 0], b)
            const uint32_t b_l1 = get_write_ptr(cb_b);
            if (b_delivery.reads > 0) {
                for (uint32_t j = 0; j < b_cols; ++j) {
                    noc_async_read_page((by * B_tile_rows + k) * B_tile_cols + j, B, b_l1 + j * b_tile_bytes);
                }
            }
            noc_async_read_barrier();
            b_delivery.send(b_l1, b_tiles * b_tile_bytes);
            b_delivery.take();
            cb_push_back(cb_b, b_tiles);
            if (k <= bx_group * 4 + bx_member) {
                cb_reserve_back(cb_a, 1);
                // kernel.py:18  T.copy(A[by, bx * 32, k * 32], a)
                const uint32_t a_l1 = get_write_ptr(cb_a);
                noc_async_read_page((by * A_tile_rows + bx_group * 4 + bx_member) * A_tile_cols + k, A, a_l1);
                noc_async_read_barrier();
                cb_push_back(cb_a, 1);
            }
        }
    }
    noc_async_write_barrier();
    noc_async_atomic_barrier();
}
