// compute of 'gemm_sum' for Wormhole, units: match: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/bcast.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/relu.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/tile_move_copy.h"

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
constexpr uint32_t cb_C_local_out = tt::CBIndex::c_16;  // 2 blocks of 1 x 1 tiles, Float16_b

// Ends a basic block: the SDK's compiler may replay recorded instructions across calls inside one, which record others.
inline __attribute__((always_inline)) void end_block() {
    __asm__ goto("" : : : : next);
next:;
}

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core
    const uint32_t first_column = get_arg_val<uint32_t>(1);  // first column of this core's blocks
    const uint32_t columns = get_arg_val<uint32_t>(2);  // columns of blocks of this core

    compute_kernel_hw_startup(cb_C_local_0, cb_C_local_out);
    cb_wait_front(cb_zeros, 1);
    cb_wait_front(cb_C_local_0, C_local_0_tiles);
    reconfig_data_format_srcb(cb_C_local_0, cb_b);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        const uint32_t bx = first_column + unit % columns;
        const uint32_t C_local_0_first = bx;
        cb_wait_front(cb_C_local_1, 1);
        cb_wait_front(cb_C_local_2, 1);
        cb_wait_front(cb_C_local_3, 1);
        cb_wait_front(cb_C_local_4, 1);
        cb_wait_front(cb_C_local_5, 1);
        cb_wait_front(cb_C_local_6, 1);
        cb_wait_front(cb_C_local_7, 1);
        cb_wait_front(cb_b, 1);
        cb_reserve_back(cb_C_local_out, 1);
        // kernel.py:29  C_local[i, j] = T.max(C_local[i, j] + b[j], 0)
        reconfig_data_format_srca(cb_C_local_0);
        copy_tile_to_dst_init_short(cb_C_local_0);
        add_binary_tile_init();
        tile_regs_acquire();
        copy_tile(cb_C_local_0, C_local_0_first, 0);
        copy_tile(cb_C_local_1, 0, 1);
        add_binary_tile(0, 1, 0);
        copy_tile(cb_C_local_2, 0, 1);
        add_binary_tile(0, 1, 0);
        copy_tile(cb_C_local_3, 0, 1);
        add_binary_tile(0, 1, 0);
        copy_tile(cb_C_local_4, 0, 1);
        add_binary_tile(0, 1, 0);
        copy_tile(cb_C_local_5, 0, 1);
        add_binary_tile(0, 1, 0);
        copy_tile(cb_C_local_6, 0, 1);
        add_binary_tile(0, 1, 0);
        copy_tile(cb_C_local_7, 0, 1);
        add_binary_tile(0, 1, 0);
        reconfig_data_format_srca(cb_C_local_0, cb_zeros);
        add_bcast_rows_init(cb_zeros, cb_b);
        add_tiles_bcast_rows(cb_zeros, cb_b, 0, 0, 1);
        add_binary_tile(0, 1, 0);
        end_block();
        relu_tile_init();
        relu_tile(0);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile<true>(0, cb_C_local_out, 0);
        tile_regs_release();
        cb_pop_front(cb_b, 1);
        cb_pop_front(cb_C_local_1, 1);
        cb_pop_front(cb_C_local_2, 1);
        cb_pop_front(cb_C_local_3, 1);
        cb_pop_front(cb_C_local_4, 1);
        cb_pop_front(cb_C_local_5, 1);
        cb_pop_front(cb_C_local_6, 1);
        cb_pop_front(cb_C_local_7, 1);
        cb_push_back(cb_C_local_out, 1);
    }
    cb_pop_front(cb_zeros, 1);
    cb_pop_front(cb_C_local_0, C_local_0_tiles);
}
