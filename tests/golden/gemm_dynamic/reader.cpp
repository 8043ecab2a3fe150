// reader of 'matmul' for Blackhole: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_A_shared = tt::CBIndex::c_0;  // 2 blocks of 4 x 1 tiles, Float16_b
constexpr uint32_t A_shared_rows = 4, A_shared_tiles = A_shared_rows;
constexpr uint32_t cb_B_shared = tt::CBIndex::c_1;  // 2 blocks of 1 x 2 tiles, Float16_b
constexpr uint32_t B_shared_cols = 2, B_shared_tiles = B_shared_cols;

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
    const uint32_t A_addr = get_arg_val<uint32_t>(0);
    const uint32_t B_addr = get_arg_val<uint32_t>(1);
    const uint32_t unit_start = get_arg_val<uint32_t>(2);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(3);  // units of work of this core
    const uint32_t n_blocks_64 = get_arg_val<uint32_t>(4);  // (n + 63) // 64
    const uint32_t k_tiles = get_arg_val<uint32_t>(5);  // (k + 31) // 32
    const uint32_t m_tiles = get_arg_val<uint32_t>(6);  // (m + 31) // 32
    const uint32_t n_tiles = get_arg_val<uint32_t>(7);  // (n + 31) // 32
    const Delivery A_shared_delivery(/*first argument*/ 8, /*semaphores*/ 0, 1);
    const Delivery B_shared_delivery(/*first argument*/ 16, /*semaphores*/ 2, 3);

    constexpr auto A_args = TensorAccessorArgs<0>();
    const auto A = TensorAccessor(A_args, A_addr);
    constexpr auto B_args = TensorAccessorArgs<A_args.next_compile_time_args_offset()>();
    const auto B = TensorAccessor(B_args, B_addr);
    constexpr uint32_t A_shared_tile_bytes = get_tile_size(cb_A_shared);
    constexpr uint32_t B_shared_tile_bytes = get_tile_size(cb_B_shared);

    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit % n_blocks_64;
        const uint32_t by = unit / n_blocks_64;
        // kernel.py:17  for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
        for (uint32_t ko = 0; ko < k_tiles; ++ko) {
            cb_reserve_back(cb_A_shared, A_shared_tiles);
            cb_reserve_back(cb_B_shared, B_shared_tiles);
            A_shared_delivery.ask();
            B_shared_delivery.ask();
            // kernel.py:18  T.copy(A[by * 128, ko * 32], A_shared)
            const uint32_t A_shared_l1 = get_write_ptr(cb_A_shared);
            if (A_shared_delivery.reads > 0) {
                for (uint32_t i = 0; i < A_shared_rows; ++i) {
                    if (by * A_shared_rows + i < m_tiles) {
                        noc_async_read_page((by * A_shared_rows + i) * k_tiles + ko, A,
                            A_shared_l1 + i * A_shared_tile_bytes);
                    } else {
                        zero_tile<A_shared_tile_bytes>(A_shared_l1 + i * A_shared_tile_bytes);
                    }
                }
            }
            // kernel.py:19  T.copy(B[ko * 32, bx * 64], B_shared)
            const uint32_t B_shared_l1 = get_write_ptr(cb_B_shared);
            if (B_shared_delivery.reads > 0) {
                for (uint32_t j = 0; j < B_shared_cols; ++j) {
                    if (bx * B_shared_cols + j < n_tiles) {
                        noc_async_read_page(ko * n_tiles + bx * B_shared_cols + j, B,
                            B_shared_l1 + j * B_shared_tile_bytes);
                    } else {
                        zero_tile<B_shared_tile_bytes>(B_shared_l1 + j * B_shared_tile_bytes);
                    }
                }
            }
            noc_async_read_barrier();
            A_shared_delivery.send(A_shared_l1, A_shared_tiles * A_shared_tile_bytes);
            B_shared_delivery.send(B_shared_l1, B_shared_tiles * B_shared_tile_bytes);
            A_shared_delivery.take();
            B_shared_delivery.take();
            cb_push_back(cb_A_shared, A_shared_tiles);
            cb_push_back(cb_B_shared, B_shared_tiles);
        }
    }
    noc_async_write_barrier();
    noc_async_atomic_barrier();
}
