// reader of 'matmul' for Wormhole, units: rectangle: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_B_shared = tt::CBIndex::c_1;  // 2 blocks of 2 x 8 tiles, Float16_b
constexpr uint32_t B_shared_rows = 2, B_shared_cols = 8, B_shared_tiles = B_shared_rows * B_shared_cols;
constexpr uint32_t cb_bias_shared = tt::CBIndex::c_2;  // 2 blocks of 1 x 8 tiles, Float32, first rows only
constexpr uint32_t bias_shared_cols = 8, bias_shared_tiles = bias_shared_cols;
constexpr uint32_t cb_zeros = tt::CBIndex::c_3;  // 1 x 1 tiles, Float16_b
constexpr uint32_t B_tile_cols = 64;  // tensor B, in tiles

// Fills one tile with zeros by reading the zero-filled region every core keeps in L1: no processor
// stores, and the read barrier of the block completes it.
template <uint32_t tile_bytes>
FORCE_INLINE void zero_tile(uint32_t l1) {
    const uint64_t zeros = get_noc_addr(MEM_ZEROS_BASE);
    for (uint32_t done = 0; done < tile_bytes; done += MEM_ZEROS_SIZE) {
        const uint32_t left = tile_bytes - done;
        noc_async_read(zeros, l1 + done, left < MEM_ZEROS_SIZE ? left : MEM_ZEROS_SIZE);
    }
}

// Reads the first row of a tile whose rows are all equal: 16 elements of each of its two upper faces.
template <uint32_t tile_bytes, typename Tensor>
FORCE_INLINE void read_first_row(uint32_t page, const Tensor& tensor, uint32_t l1) {
    constexpr uint32_t face_bytes = tile_bytes / 4, row_bytes = face_bytes / 16;
    const uint64_t from = tensor.get_noc_addr(page);
    noc_async_read(from, l1, row_bytes);
    noc_async_read(from + face_bytes, l1 + face_bytes, row_bytes);
}

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
    const uint32_t bias_addr = get_arg_val<uint32_t>(0);
    const uint32_t B_addr = get_arg_val<uint32_t>(1);
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core
    const uint32_t first_column = get_arg_val<uint32_t>(3);  // first column of this core's blocks
    const uint32_t columns = get_arg_val<uint32_t>(4);  // columns of blocks of this core
    const Delivery B_shared_delivery(/*first argument*/ 5, /*semaphores*/ 2, 3);

    constexpr auto bias_args = TensorAccessorArgs<0>();
    const auto bias = TensorAccessor(bias_args, bias_addr);
    constexpr auto B_args = TensorAccessorArgs<bias_args.next_compile_time_args_offset()>();
    const auto B = TensorAccessor(B_args, B_addr);
    constexpr uint32_t B_shared_tile_bytes = get_tile_size(cb_B_shared);
    constexpr uint32_t bias_shared_tile_bytes = get_tile_size(cb_bias_shared);
    constexpr uint32_t zeros_tile_bytes = get_tile_size(cb_zeros);

    cb_reserve_back(cb_zeros, 1);
    const uint32_t zeros_l1 = get_write_ptr(cb_zeros);
    zero_tile<zeros_tile_bytes>(zeros_l1);
    noc_async_read_barrier();
    cb_push_back(cb_zeros, 1);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        const uint32_t bx = first_column + unit % columns;
        cb_reserve_back(cb_bias_shared, bias_shared_tiles);
        // kernel.py:21  T.copy(bias[bx * 256], bias_shared)
        const uint32_t bias_shared_l1 = get_write_ptr(cb_bias_shared);
        for (uint32_t j = 0; j < bias_shared_cols; ++j) {
            read_first_row<bias_shared_tile_bytes>(bx * bias_shared_cols + j, bias,
                bias_shared_l1 + j * bias_shared_tile_bytes);
        }
        noc_async_read_barrier();
        cb_push_back(cb_bias_shared, bias_shared_tiles);
        // kernel.py:22  for k in T.Pipelined(16, num_stages=2):
        for (uint32_t k = 0; k < 16; ++k) {
            cb_reserve_back(cb_B_shared, B_shared_tiles);
            B_shared_delivery.ask();
            // kernel.py:24  T.copy(B[k * 64, bx * 256], B_shared)
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
    }
    noc_async_write_barrier();
    noc_async_atomic_barrier();
}
