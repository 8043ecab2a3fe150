// reader of 'gemm_sum' for Wormhole, units: match: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_b = tt::CBIndex::c_0;  // 2 blocks of 1 x 1 tiles, Float16_b, first rows only
constexpr uint32_t cb_C_local_0 = tt::CBIndex::c_1;  // 1 x 2 tiles, Float32, in place: this core's shard of C_local_parts
constexpr uint32_t C_local_0_tiles = 2;
constexpr uint32_t cb_C_local_1 = tt::CBIndex::c_2;  // 2 blocks of 1 x 1 tiles, Float32
constexpr uint32_t cb_C_local_2 = tt::CBIndex::c_3;  // 2 blocks of 1 x 1 tiles, Float32
constexpr uint32_t cb_C_local_3 = tt::CBIndex::c_4;  // 2 blocks of 1 x 1 tiles, Float32
constexpr uint32_t cb_C_local_4 = tt::CBIndex::c_5;  // 2 blocks of 1 x 1 tiles, Float32
constexpr uint32_t cb_C_local_5 = tt::CBIndex::c_6;  // 2 blocks of 1 x 1 tiles, Float32
constexpr uint32_t cb_C_local_6 = tt::CBIndex::c_7;  // 2 blocks of 1 x 1 tiles, Float32
constexpr uint32_t cb_C_local_7 = tt::CBIndex::c_8;  // 2 blocks of 1 x 1 tiles, Float32
constexpr uint32_t cb_zeros = tt::CBIndex::c_9;  // 1 x 1 tiles, Float16_b
constexpr uint32_t C_local_parts_tile_cols = 2;  // tensor C_local_parts, in tiles

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

void kernel_main() {
    const uint32_t C_local_parts_addr = get_arg_val<uint32_t>(0);
    const uint32_t bias_addr = get_arg_val<uint32_t>(1);
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core
    const uint32_t first_column = get_arg_val<uint32_t>(3);  // first column of this core's blocks
    const uint32_t columns = get_arg_val<uint32_t>(4);  // columns of blocks of this core
    const uint32_t first_row = get_arg_val<uint32_t>(5);  // first row of this core's blocks

    constexpr auto C_local_parts_args = TensorAccessorArgs<0>();
    const auto C_local_parts = TensorAccessor(C_local_parts_args, C_local_parts_addr);
    constexpr auto bias_args = TensorAccessorArgs<C_local_parts_args.next_compile_time_args_offset()>();
    const auto bias = TensorAccessor(bias_args, bias_addr);
    constexpr uint32_t b_tile_bytes = get_tile_size(cb_b);
    constexpr uint32_t C_local_1_tile_bytes = get_tile_size(cb_C_local_1);
    constexpr uint32_t C_local_2_tile_bytes = get_tile_size(cb_C_local_2);
    constexpr uint32_t C_local_3_tile_bytes = get_tile_size(cb_C_local_3);
    constexpr uint32_t C_local_4_tile_bytes = get_tile_size(cb_C_local_4);
    constexpr uint32_t C_local_5_tile_bytes = get_tile_size(cb_C_local_5);
    constexpr uint32_t C_local_6_tile_bytes = get_tile_size(cb_C_local_6);
    constexpr uint32_t C_local_7_tile_bytes = get_tile_size(cb_C_local_7);
    constexpr uint32_t zeros_tile_bytes = get_tile_size(cb_zeros);

    cb_reserve_back(cb_zeros, 1);
    const uint32_t zeros_l1 = get_write_ptr(cb_zeros);
    zero_tile<zeros_tile_bytes>(zeros_l1);
    noc_async_read_barrier();
    cb_push_back(cb_zeros, 1);
    cb_reserve_back(cb_C_local_0, C_local_0_tiles);
    // kernel.py:23  for k in T.Pipelined(K // BLOCK_K, num_stages=2):
    cb_push_back(cb_C_local_0, C_local_0_tiles);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        const uint32_t bx = first_column + unit % columns;
        const uint32_t by = first_row + unit / columns;
        cb_reserve_back(cb_C_local_1, 1);
        cb_reserve_back(cb_C_local_2, 1);
        cb_reserve_back(cb_C_local_3, 1);
        cb_reserve_back(cb_C_local_4, 1);
        cb_reserve_back(cb_C_local_5, 1);
        cb_reserve_back(cb_C_local_6, 1);
        cb_reserve_back(cb_C_local_7, 1);
        cb_reserve_back(cb_b, 1);
        const uint32_t C_local_1_l1 = get_write_ptr(cb_C_local_1);
        noc_async_read_page((bx + by + 1) % 8 * C_local_parts_tile_cols + bx, C_local_parts, C_local_1_l1);
        const uint32_t C_local_2_l1 = get_write_ptr(cb_C_local_2);
        noc_async_read_page((bx + by + 2) % 8 * C_local_parts_tile_cols + bx, C_local_parts, C_local_2_l1);
        const uint32_t C_local_3_l1 = get_write_ptr(cb_C_local_3);
        noc_async_read_page((bx + by + 3) % 8 * C_local_parts_tile_cols + bx, C_local_parts, C_local_3_l1);
        const uint32_t C_local_4_l1 = get_write_ptr(cb_C_local_4);
        noc_async_read_page((bx + by + 4) % 8 * C_local_parts_tile_cols + bx, C_local_parts, C_local_4_l1);
        const uint32_t C_local_5_l1 = get_write_ptr(cb_C_local_5);
        noc_async_read_page((bx + by + 5) % 8 * C_local_parts_tile_cols + bx, C_local_parts, C_local_5_l1);
        const uint32_t C_local_6_l1 = get_write_ptr(cb_C_local_6);
        noc_async_read_page((bx + by + 6) % 8 * C_local_parts_tile_cols + bx, C_local_parts, C_local_6_l1);
        const uint32_t C_local_7_l1 = get_write_ptr(cb_C_local_7);
        noc_async_read_page((bx + by + 7) % 8 * C_local_parts_tile_cols + bx, C_local_parts, C_local_7_l1);
        // kernel.py:27  T.copy(bias[bx * BLOCK_N], b)
        const uint32_t b_l1 = get_write_ptr(cb_b);
        read_first_row<b_tile_bytes>(bx, bias, b_l1);
        noc_async_read_barrier();
        cb_push_back(cb_C_local_1, 1);
        cb_push_back(cb_C_local_2, 1);
        cb_push_back(cb_C_local_3, 1);
        cb_push_back(cb_C_local_4, 1);
        cb_push_back(cb_C_local_5, 1);
        cb_push_back(cb_C_local_6, 1);
        cb_push_back(cb_C_local_7, 1);
        cb_push_back(cb_b, 1);
    }
}
