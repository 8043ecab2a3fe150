// compute of 'rms_norm' for Wormhole: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/bcast.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/binop_with_scalar.h"
#include "api/compute/eltwise_unary/rsqrt.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"

constexpr uint32_t cb_weight_in = tt::CBIndex::c_0;  // 2 blocks of 1 x 8 tiles, Float16_b, first rows only
constexpr uint32_t weight_in_tiles = 8;
constexpr uint32_t cb_x_in = tt::CBIndex::c_1;  // 2 blocks of 1 x 8 tiles, Float16_b
constexpr uint32_t x_in_tiles = 8;
constexpr uint32_t cb_ones = tt::CBIndex::c_2;  // 1 x 1 tiles, Float16_b
constexpr uint32_t cb_zeros = tt::CBIndex::c_3;  // 1 x 1 tiles, Float16_b
constexpr uint32_t cb_x_out = tt::CBIndex::c_16;  // 2 blocks of 1 x 8 tiles, Float16_b
constexpr uint32_t x_out_cols = 8, x_out_tiles = x_out_cols;
constexpr uint32_t x_out_sub_cols = 2;  // computed at a time
constexpr uint32_t cb_square = tt::CBIndex::c_24;  // 1 x 8 tiles, Float32
constexpr uint32_t square_cols = 8, square_tiles = square_cols;
constexpr uint32_t square_sub_tiles = 4;  // computed at a time
constexpr uint32_t cb_total = tt::CBIndex::c_25;  // 1 x 1 tiles, Float32

// Ends a basic block: the SDK's compiler may replay recorded instructions across calls inside one, which record others.
inline __attribute__((always_inline)) void end_block() {
    __asm__ goto("" : : : : next);
next:;
}

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup<SrcOrder::Reverse>(cb_x_in, cb_x_in, cb_square);
    cb_wait_front(cb_ones, 1);
    cb_wait_front(cb_zeros, 1);
    reconfig_data_format_srca(cb_x_in);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_wait_front(cb_x_in, x_in_tiles);
        cb_reserve_back(cb_square, square_tiles);
        // kernel.py:18  square[i, j] = x[i, j] * x[i, j]
        reconfig_data_format_srcb(cb_x_in);
        mul_init(cb_x_in, cb_x_in);
        pack_reconfig_data_format(cb_square);
        for (uint32_t tile = 0; tile < square_tiles; tile += square_sub_tiles) {
            tile_regs_acquire();
            for (uint32_t t = 0; t < square_sub_tiles; ++t) mul_tiles(cb_x_in, cb_x_in, tile + t, tile + t, t);
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t t = 0; t < square_sub_tiles; ++t) pack_tile<true>(t, cb_square, tile + t);
            tile_regs_release();
        }
        cb_push_back(cb_square, square_tiles);
        cb_wait_front(cb_square, square_tiles);
        cb_reserve_back(cb_total, 1);
        // kernel.py:19  T.reduce_sum(square, total, dim=1)
        // kernel.py:21  total[i] = T.rsqrt(total[i] / 256 + 1e-6)
        reconfig_data_format_srcb(cb_x_in, cb_square);
        matmul_block_init(cb_square, cb_ones, /*transpose*/ 0, 1, 1, square_cols);
        binop_with_scalar_tile_init();
        tile_regs_acquire();
        for (uint32_t kk = 0; kk < square_cols; ++kk) {
            matmul_block(cb_square, cb_ones, kk, 0, 0, /*transpose*/ 0, 1, 1, square_cols);
        }
        div_unary_tile(0, 0x3b800000u /* 0.00390625 */);
        add_unary_tile(0, 0x358637bdu /* 1e-06 */);
        end_block();
        rsqrt_tile_init();
        rsqrt_tile(0);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile<true>(0, cb_total, 0);
        tile_regs_release();
        cb_pop_front(cb_square, square_tiles);
        cb_push_back(cb_total, 1);
        cb_wait_front(cb_total, 1);
        cb_wait_front(cb_weight_in, weight_in_tiles);
        cb_reserve_back(cb_x_out, x_out_tiles);
        // kernel.py:23  x[i, j] = x[i, j] * total[i] * weight[j]
        pack_reconfig_data_format(cb_square, cb_x_out);
        end_block();
        mul_binary_tile_init();
        for (uint32_t j = 0; j < x_out_cols; j += x_out_sub_cols) {
            reconfig_data_format_srcb(cb_total);
            mul_init(cb_x_in, cb_total);
            tile_regs_acquire();
            for (uint32_t t = 0; t < x_out_sub_cols; ++t) mul_tiles(cb_x_in, cb_total, j + t, 0, t);
            reconfig_data_format_srcb(cb_total, cb_weight_in);
            add_bcast_rows_init(cb_zeros, cb_weight_in);
            for (uint32_t t = 0; t < x_out_sub_cols; ++t) {
                add_tiles_bcast_rows(cb_zeros, cb_weight_in, 0, j + t, x_out_sub_cols + t);
            }
            for (uint32_t t = 0; t < x_out_sub_cols; ++t) mul_binary_tile(t, x_out_sub_cols + t, t);
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t t = 0; t < x_out_sub_cols; ++t) pack_tile<true>(t, cb_x_out, j + t);
            tile_regs_release();
        }
        cb_pop_front(cb_weight_in, weight_in_tiles);
        cb_pop_front(cb_x_in, x_in_tiles);
        cb_pop_front(cb_total, 1);
        cb_push_back(cb_x_out, x_out_tiles);
    }
    cb_pop_front(cb_ones, 1);
    cb_pop_front(cb_zeros, 1);
}
