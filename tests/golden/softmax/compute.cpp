// compute of 'softmax' for Wormhole: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/binop_with_scalar.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/reduce.h"
#include "api/compute/tile_move_copy.h"

constexpr uint32_t cb_x_in = tt::CBIndex::c_0;  // 2 blocks of 1 x 8 tiles, Float16_b
constexpr uint32_t x_in_cols = 8, x_in_tiles = x_in_cols;
constexpr uint32_t cb_ones = tt::CBIndex::c_1;  // 1 x 1 tiles, Float16_b
constexpr uint32_t cb_x_out = tt::CBIndex::c_16;  // 2 blocks of 1 x 8 tiles, Float16_b
constexpr uint32_t x_out_cols = 8, x_out_tiles = x_out_cols;
constexpr uint32_t x_out_sub_cols = 2;  // computed at a time
constexpr uint32_t cb_x = tt::CBIndex::c_24;  // 1 x 8 tiles, Float32
constexpr uint32_t x_cols = 8, x_tiles = x_cols;
constexpr uint32_t x_sub_cols = 2;  // computed at a time
constexpr uint32_t cb_largest = tt::CBIndex::c_25;  // 1 x 1 tiles, Float16_b
constexpr uint32_t cb_largest_lane = tt::CBIndex::c_26;  // 1 x 1 tiles, Float16_b
constexpr uint32_t cb_total_once = tt::CBIndex::c_27;  // 1 x 1 tiles, Float32

// Ends a basic block: the SDK's compiler may replay recorded instructions across calls inside one, which record others.
inline __attribute__((always_inline)) void end_block() {
    __asm__ goto("" : : : : next);
next:;
}

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup<SrcOrder::Reverse>(cb_ones, cb_x_in, cb_x_out);
    cb_wait_front(cb_ones, 1);
    sub_binary_tile_init();
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_wait_front(cb_x_in, x_in_tiles);
        cb_reserve_back(cb_largest_lane, 1);
        // kernel.py:15  T.reduce_max(x, largest, dim=1)
        reconfig_data_format_srca(cb_x_in);
        reconfig_data_format_srcb(cb_ones);
        reduce_init<PoolType::MAX, ReduceDim::REDUCE_ROW>(cb_x_in, cb_ones, cb_largest_lane);
        tile_regs_acquire();
        for (uint32_t k = 0; k < x_in_cols; ++k) {
            reduce_tile<PoolType::MAX, ReduceDim::REDUCE_ROW>(cb_x_in, cb_ones, k, 0, 0);
        }
        tile_regs_commit();
        tile_regs_wait();
        pack_tile<true>(0, cb_largest_lane, 0);
        tile_regs_release();
        reduce_uninit(cb_x_in);
        cb_push_back(cb_largest_lane, 1);
        cb_wait_front(cb_largest_lane, 1);
        cb_reserve_back(cb_largest, 1);
        matmul_block_init(cb_largest_lane, cb_ones, /*transpose*/ 0, 1, 1, 1);
        tile_regs_acquire();
        matmul_block(cb_largest_lane, cb_ones, 0, 0, 0, /*transpose*/ 0, 1, 1, 1);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile<true>(0, cb_largest, 0);
        tile_regs_release();
        cb_pop_front(cb_largest_lane, 1);
        cb_push_back(cb_largest, 1);
        cb_wait_front(cb_largest, 1);
        cb_reserve_back(cb_x, x_tiles);
        // kernel.py:17  x[i, j] = T.exp(x[i, j] - largest[i])
        copy_tile_to_dst_init_short(cb_x_in);
        pack_reconfig_data_format(cb_x_out, cb_x);
        for (uint32_t j = 0; j < x_cols; j += x_sub_cols) {
            end_block();
            sub_binary_tile_init();
            tile_regs_acquire();
            for (uint32_t t = 0; t < x_sub_cols; ++t) copy_tile(cb_x_in, j + t, t);
            copy_tile(cb_largest, 0, x_sub_cols);
            for (uint32_t t = 0; t < x_sub_cols; ++t) sub_binary_tile(t, x_sub_cols, t);
            end_block();
            binop_with_scalar_tile_init();
            for (uint32_t t = 0; t < x_sub_cols; ++t) mul_unary_tile(t, 0x3fb8aa3bu /* 1.44269504 */);
            end_block();
            exp2_tile_init();
            for (uint32_t t = 0; t < x_sub_cols; ++t) exp2_tile(t);
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t t = 0; t < x_sub_cols; ++t) pack_tile<true>(t, cb_x, j + t);
            tile_regs_release();
        }
        cb_pop_front(cb_x_in, x_in_tiles);
        cb_pop_front(cb_largest, 1);
        cb_push_back(cb_x, x_tiles);
        cb_wait_front(cb_x, x_tiles);
        cb_reserve_back(cb_total_once, 1);
        // kernel.py:18  T.reduce_sum(x, total, dim=1)
        // kernel.py:20  x[i, j] /= total[i]
        reconfig_data_format_srcb(cb_ones, cb_x);
        matmul_block_init(cb_x, cb_ones, /*transpose*/ 0, 1, 1, x_cols);
        end_block();
        fill_tile_init();
        tile_regs_acquire();
        for (uint32_t kk = 0; kk < x_cols; ++kk) matmul_block(cb_x, cb_ones, kk, 0, 0, /*transpose*/ 0, 1, 1, x_cols);
        fill_tile_bitcast(1, 0x3f800000u /* 1 */);
        end_block();
        div_binary_tile_init();
        div_binary_tile(1, 0, 0);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile<true>(0, cb_total_once, 0);
        tile_regs_release();
        cb_push_back(cb_total_once, 1);
        cb_wait_front(cb_total_once, 1);
        cb_reserve_back(cb_x_out, x_out_tiles);
        reconfig_data_format_srca(cb_x_in, cb_x);
        copy_tile_to_dst_init_short(cb_x);
        pack_reconfig_data_format(cb_x, cb_x_out);
        end_block();
        mul_binary_tile_init();
        for (uint32_t j = 0; j < x_out_cols; j += x_out_sub_cols) {
            tile_regs_acquire();
            for (uint32_t t = 0; t < x_out_sub_cols; ++t) copy_tile(cb_x, j + t, t);
            copy_tile(cb_total_once, 0, x_out_sub_cols);
            for (uint32_t t = 0; t < x_out_sub_cols; ++t) mul_binary_tile(t, x_out_sub_cols, t);
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t t = 0; t < x_out_sub_cols; ++t) pack_tile<true>(t, cb_x_out, j + t);
            tile_regs_release();
        }
        cb_pop_front(cb_x, x_tiles);
        cb_pop_front(cb_total_once, 1);
        cb_push_back(cb_x_out, x_out_tiles);
    }
    cb_pop_front(cb_ones, 1);
}
