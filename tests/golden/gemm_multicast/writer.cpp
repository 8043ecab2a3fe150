// writer of 'matmul' for Wormhole, units: rectangle: moves tiles from DRAM to L1, and finished ones back.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_B_shared = tt::CBIndex::c_1;  // 3 blocks of 2 x 4 tiles, Float16_b
constexpr uint32_t B_shared_rows = 2, B_shared_cols = 4, B_shared_tiles = B_shared_rows * B_shared_cols;
constexpr uint32_t cb_C_local_out = tt::CBIndex::c_16;  // 2 blocks of 4 x 4 tiles, Float16_b
constexpr uint32_t C_local_out_rows = 4, C_local_out_cols = 4, C_local_out_tiles = C_local_out_rows * C_local_out_cols;
constexpr uint32_t B_tile_cols = 32;  // tensor B, in tiles
constexpr uint32_t C_tile_cols = 32;  // tensor C, in tiles

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
    const uint32_t C_addr = get_arg_val<uint32_t>(1);
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core
    const uint32_t first_column = get_arg_val<uint32_t>(3);  // first column of this core's blocks
    const uint32_t columns = get_arg_val<uint32_t>(4);  // columns of blocks of this core
    const uint32_t first_row = get_arg_val<uint32_t>(5);  // first row of this core's blocks
    const Delivery B_shared_delivery(/*first argument*/ 6, /*semaphores*/ 2, 3);

    constexpr auto B_args = TensorAccessorArgs<0>();
    const auto B = TensorAccessor(B_args, B_addr);
    constexpr auto C_args = TensorAccessorArgs<B_args.next_compile_time_args_offset()>();
    const auto C = TensorAccessor(C_args, C_addr);
    constexpr uint32_t B_shared_tile_bytes = get_tile_size(cb_B_shared);
    constexpr uint32_t C_local_out_tile_bytes = get_tile_size(cb_C_local_out);

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        const uint32_t bx = first_column + unit % columns;
        const uint32_t by = first_row + unit / columns;
        // kernel.py:17  for k in T.Pipelined(8, num_stages=3):
        for (uint32_t k = 0; k < 8; ++k) {
            cb_reserve_back(cb_B_shared, B_shared_tiles);
            B_shared_delivery.ask();
            // kernel.py:19  T.copy(B[k * 64, bx * 128], B_shared)
            const uint32_t B_shared_l1 = get_write_ptr(cb_B_shared);
            if (B_shared_delivery.reads > 0) {
                for (uint32_t i = 0; i < B_shared_rows; ++i) {
                    for (uint32_t j = 0; j < B_shared_cols; ++j) {
                        noc_async_read_page((k * B_shared_rows + i) * B_tile_cols + bx * B_shared_cols + j, B,
                            B_shared_l1 + (i * B_shared_cols + j) * B_shared_tile_bytes);
                    }
                }
            }
            noc_async_read_barrier();
            B_shared_delivery.send(B_shared_l1, B_shared_tiles * B_shared_tile_bytes);
            B_shared_delivery.take();
            cb_push_back(cb_B_shared, B_shared_tiles);
        }
        cb_wait_front(cb_C_local_out, C_local_out_tiles);
        // kernel.py:21  T.copy(C_local, C[by * 128, bx * 128])
        const uint32_t C_local_out_l1 = get_read_ptr(cb_C_local_out);
        for (uint32_t i = 0; i < C_local_out_rows; ++i) {
            for (uint32_t j = 0; j < C_local_out_cols; ++j) {
                noc_async_write_page((by * C_local_out_rows + i) * C_tile_cols + bx * C_local_out_cols + j, C,
                    C_local_out_l1 + (i * C_local_out_cols + j) * C_local_out_tile_bytes);
            }
        }
        noc_async_writes_flushed();
        cb_pop_front(cb_C_local_out, C_local_out_tiles);
    }
    noc_async_write_barrier();
    noc_async_atomic_barrier();
}
