// compute of 'packed_weights' for Wormhole: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/binop_with_scalar.h"
#include "api/compute/eltwise_unary/bitwise.h"
#include "api/compute/eltwise_unary/shift.h"
#include "api/compute/eltwise_unary/typecast.h"
#include "api/compute/eltwise_unary/where.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/tile_move_copy.h"

constexpr uint32_t cb_packed = tt::CBIndex::c_0;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t packed_tiles = 2;
constexpr uint32_t cb_a_0 = tt::CBIndex::c_1;  // 2 blocks of 1 x 1 tiles, Float16_b
constexpr uint32_t cb_a_1 = tt::CBIndex::c_2;  // 2 blocks of 1 x 1 tiles, Float16_b
constexpr uint32_t cb_S_tile = tt::CBIndex::c_3;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t S_tile_tiles = 2;
constexpr uint32_t cb_S_tile_1 = tt::CBIndex::c_4;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t S_tile_1_tiles = 2;
constexpr uint32_t cb_S_tile_2 = tt::CBIndex::c_5;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t S_tile_2_tiles = 2;
constexpr uint32_t cb_S_tile_3 = tt::CBIndex::c_6;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t S_tile_3_tiles = 2;
constexpr uint32_t cb_mask = tt::CBIndex::c_7;  // 1 x 1 tiles, Float16_b
constexpr uint32_t cb_c = tt::CBIndex::c_16;  // 2 blocks of 1 x 2 tiles, Float32
constexpr uint32_t c_cols = 2, c_tiles = c_cols;
constexpr uint32_t cb_w_0 = tt::CBIndex::c_24;  // 2 x 1 tiles, Float16_b
constexpr uint32_t w_0_rows = 2, w_0_tiles = w_0_rows;
constexpr uint32_t cb_w_1 = tt::CBIndex::c_25;  // 2 x 1 tiles, Float16_b
constexpr uint32_t w_1_rows = 2, w_1_tiles = w_1_rows;

// Ends a basic block: the SDK's compiler may replay recorded instructions across calls inside one, which record others.
inline __attribute__((always_inline)) void end_block() {
    __asm__ goto("" : : : : next);
next:;
}

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup(cb_mask, cb_w_0);
    cb_wait_front(cb_mask, 1);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_reserve_back(cb_c, c_tiles);
        // kernel.py:22  for k in T.Pipelined(LENGTH // DEPTH, num_stages=2):
        for (uint32_t k = 0; k < 2; ++k) {
            cb_wait_front(cb_packed, packed_tiles);
            cb_wait_front(cb_S_tile, S_tile_tiles);
            cb_wait_front(cb_S_tile_1, S_tile_1_tiles);
            cb_reserve_back(cb_w_0, w_0_tiles);
            // kernel.py:27  w[i, j] = number * S[i, (k * DEPTH + j) // GROUP]
            copy_tile_to_dst_init_short(cb_mask);
            pack_reconfig_data_format(cb_w_0);
            pack_reconfig_l1_acc(0);
            for (uint32_t i = 0; i < w_0_rows; ++i) {
                end_block();
                where_tile_init();
                tile_regs_acquire();
                copy_tile(cb_mask, 0, 2);
                copy_tile(cb_S_tile, i, 0);
                copy_tile(cb_S_tile_1, i, 1);
                where_tile<DataFormat::Float32>(2, 0, 1, 0);
                copy_tile(cb_packed, i, 1);
                end_block();
                typecast_tile_init<(uint32_t)DataFormat::Float32, (uint32_t)DataFormat::Int32>();
                typecast_tile<(uint32_t)DataFormat::Float32, (uint32_t)DataFormat::Int32>(1);
                end_block();
                right_shift_tile_init();
                right_shift_tile<DataFormat::Int32>(1, 0x0u);
                end_block();
                bitwise_and_tile_init();
                bitwise_and_tile<DataFormat::Int32>(1, 0xfu);
                end_block();
                typecast_tile_init<(uint32_t)DataFormat::Int32, (uint32_t)DataFormat::Float32>();
                typecast_tile<(uint32_t)DataFormat::Int32, (uint32_t)DataFormat::Float32>(1);
                end_block();
                binop_with_scalar_tile_init();
                sub_unary_tile(1, 0x41000000u /* 8 */);
                end_block();
                mul_binary_tile_init();
                mul_binary_tile(1, 0, 1);
                tile_regs_commit();
                tile_regs_wait();
                pack_tile<true>(1, cb_w_0, i);
                tile_regs_release();
            }
            cb_pop_front(cb_S_tile, S_tile_tiles);
            cb_pop_front(cb_S_tile_1, S_tile_1_tiles);
            cb_wait_front(cb_S_tile_2, S_tile_2_tiles);
            cb_wait_front(cb_S_tile_3, S_tile_3_tiles);
            cb_reserve_back(cb_w_1, w_1_tiles);
            for (uint32_t i = 0; i < w_1_rows; ++i) {
                end_block();
                where_tile_init();
                tile_regs_acquire();
                copy_tile(cb_mask, 0, 2);
                copy_tile(cb_S_tile_2, i, 0);
                copy_tile(cb_S_tile_3, i, 1);
                where_tile<DataFormat::Float32>(2, 0, 1, 0);
                copy_tile(cb_packed, i, 1);
                end_block();
                typecast_tile_init<(uint32_t)DataFormat::Float32, (uint32_t)DataFormat::Int32>();
                typecast_tile<(uint32_t)DataFormat::Float32, (uint32_t)DataFormat::Int32>(1);
                end_block();
                right_shift_tile_init();
                right_shift_tile<DataFormat::Int32>(1, 0x4u);
                end_block();
                bitwise_and_tile_init();
                bitwise_and_tile<DataFormat::Int32>(1, 0xfu);
                end_block();
                typecast_tile_init<(uint32_t)DataFormat::Int32, (uint32_t)DataFormat::Float32>();
                typecast_tile<(uint32_t)DataFormat::Int32, (uint32_t)DataFormat::Float32>(1);
                end_block();
                binop_with_scalar_tile_init();
                sub_unary_tile(1, 0x41000000u /* 8 */);
                end_block();
                mul_binary_tile_init();
                mul_binary_tile(1, 0, 1);
                tile_regs_commit();
                tile_regs_wait();
                pack_tile<true>(1, cb_w_1, i);
                tile_regs_release();
            }
            cb_pop_front(cb_packed, packed_tiles);
            cb_pop_front(cb_S_tile_2, S_tile_2_tiles);
            cb_pop_front(cb_S_tile_3, S_tile_3_tiles);
            cb_wait_front(cb_a_0, 1);
            cb_push_back(cb_w_0, w_0_tiles);
            cb_wait_front(cb_w_0, w_0_tiles);
            // kernel.py:28  T.gemm(a, w, c, transpose_B=True)
            matmul_block_init(cb_a_0, cb_w_0, /*transpose*/ 1, 1, 1, 1);
            pack_reconfig_data_format(cb_w_0, cb_c);
            pack_reconfig_l1_acc(k != 0);
            for (uint32_t j = 0; j < c_cols; ++j) {
                tile_regs_acquire();
                matmul_block(cb_a_0, cb_w_0, 0, j, 0, /*transpose*/ 1, 1, 1, 1);
                tile_regs_commit();
                tile_regs_wait();
                pack_tile<true>(0, cb_c, j);
                tile_regs_release();
            }
            cb_pop_front(cb_a_0, 1);
            cb_pop_front(cb_w_0, w_0_tiles);
            cb_wait_front(cb_a_1, 1);
            cb_push_back(cb_w_1, w_1_tiles);
            cb_wait_front(cb_w_1, w_1_tiles);
            pack_reconfig_l1_acc(1);
            for (uint32_t j = 0; j < c_cols; ++j) {
                tile_regs_acquire();
                matmul_block(cb_a_1, cb_w_1, 0, j, 0, /*transpose*/ 1, 1, 1, 1);
                tile_regs_commit();
                tile_regs_wait();
                pack_tile<true>(0, cb_c, j);
                tile_regs_release();
            }
            cb_pop_front(cb_a_1, 1);
            cb_pop_front(cb_w_1, w_1_tiles);
        }
        cb_push_back(cb_c, c_tiles);
    }
    cb_pop_front(cb_mask, 1);
    pack_reconfig_l1_acc(0);
}
