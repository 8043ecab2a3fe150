// compute of 'label_scores_1' for Wormhole, units: match: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/add_int_sfpu.h"
#include "api/compute/binary_bitwise_sfpu.h"
#include "api/compute/compute_kernel_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/bitwise.h"
#include "api/compute/eltwise_unary/comp.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/eltwise_unary/typecast.h"
#include "api/compute/eltwise_unary/where.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/sfpu_binary_bcast.h"
#include "api/compute/tile_move_copy.h"
#include "api/compute/transpose_dest.h"

constexpr uint32_t cb_most_1 = tt::CBIndex::c_0;  // 1 x 1 tiles, Float32, in place: this core's shard of largest
constexpr uint32_t cb_labels_words_tile = tt::CBIndex::c_1;  // 2 blocks of 1 x 1 tiles, Int32
constexpr uint32_t cb_index = tt::CBIndex::c_2;  // 1 x 1 tiles, Float16_b
constexpr uint32_t cb_mask = tt::CBIndex::c_3;  // 2 x 1 tiles, Float16_b
constexpr uint32_t mask_tiles = 2;
constexpr uint32_t cb_x_1_in = tt::CBIndex::c_4;  // 2 blocks of 1 x 4 tiles, Float32
constexpr uint32_t x_1_in_tiles = 4;
constexpr uint32_t cb_score = tt::CBIndex::c_16;  // 2 blocks of 1 x 1 tiles, Float32
constexpr uint32_t cb_x_frag_1_masked = tt::CBIndex::c_24;  // 1 x 4 tiles, Float32
constexpr uint32_t x_frag_1_masked_cols = 4, x_frag_1_masked_tiles = x_frag_1_masked_cols;

// Ends a basic block: the SDK's compiler may replay recorded instructions across calls inside one, which record others.
inline __attribute__((always_inline)) void end_block() {
    __asm__ goto("" : : : : next);
next:;
}

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup(cb_labels_words_tile, cb_x_frag_1_masked);
    cb_wait_front(cb_index, 1);
    cb_wait_front(cb_mask, mask_tiles);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_wait_front(cb_labels_words_tile, 1);
        cb_wait_front(cb_x_1_in, x_1_in_tiles);
        cb_wait_front(cb_most_1, 1);
        cb_reserve_back(cb_x_frag_1_masked, x_frag_1_masked_tiles);
        // kernel.py:28  T.reduce_sum(x, score, dim=1)
        for (uint32_t j = 0; j < x_frag_1_masked_cols; ++j) {
            reconfig_data_format_srca(cb_labels_words_tile);
            copy_tile_to_dst_init_short(cb_labels_words_tile);
            end_block();
            typecast_tile_init<(uint32_t)DataFormat::Float32, (uint32_t)DataFormat::Int32>();
            tile_regs_acquire();
            copy_tile(cb_labels_words_tile, 0, 2);
            reconfig_data_format_srca(cb_labels_words_tile, cb_index);
            copy_tile_to_dst_init_short(cb_index);
            copy_tile(cb_index, 0, 3);
            typecast_tile<(uint32_t)DataFormat::Float32, (uint32_t)DataFormat::Int32>(3);
            end_block();
            fill_tile_init();
            fill_tile_bitcast(0, 0x00000000u /* 0 */);
            end_block();
            bitwise_or_tile_init();
            bitwise_or_tile<DataFormat::Int32>(0, j * 32);
            end_block();
            add_int_tile_init();
            add_int_tile<DataFormat::Int32>(3, 0, 0);
            end_block();
            binary_bitwise_tile_init();
            bitwise_xor_binary_tile<DataFormat::Int32>(2, 0, 0);
            end_block();
            typecast_tile_init<(uint32_t)DataFormat::Int32, (uint32_t)DataFormat::Float32>();
            typecast_tile<(uint32_t)DataFormat::Int32, (uint32_t)DataFormat::Float32>(0);
            end_block();
            eqz_tile_init();
            eqz_tile(0);
            reconfig_data_format_srca(cb_index, cb_x_1_in);
            copy_tile_to_dst_init_short(cb_x_1_in);
            copy_tile(cb_x_1_in, j, 1);
            copy_tile(cb_most_1, 0, 3);
            end_block();
            sub_binary_tile_init();
            sub_binary_tile(1, 3, 1);
            end_block();
            fill_tile_init();
            fill_tile_bitcast(3, 0x00000000u /* 0 */);
            end_block();
            where_tile_init();
            where_tile<DataFormat::Float32>(0, 1, 3, 0);
            reconfig_data_format_srca(cb_x_1_in, cb_mask);
            copy_tile_to_dst_init_short(cb_mask);
            copy_tile(cb_mask, (2 < j ? 0 : 1), 1);
            end_block();
            fill_tile_init();
            fill_tile_bitcast(3, 0x00000000u /* 0 */);
            end_block();
            where_tile_init();
            where_tile<DataFormat::Float32>(1, 0, 3, 1);
            tile_regs_commit();
            tile_regs_wait();
            pack_tile<true>(1, cb_x_frag_1_masked, j);
            tile_regs_release();
        }
        cb_pop_front(cb_most_1, 1);
        cb_pop_front(cb_labels_words_tile, 1);
        cb_pop_front(cb_x_1_in, x_1_in_tiles);
        cb_push_back(cb_x_frag_1_masked, x_frag_1_masked_tiles);
        cb_wait_front(cb_x_frag_1_masked, x_frag_1_masked_tiles);
        cb_reserve_back(cb_score, 1);
        reconfig_data_format_srca(cb_x_frag_1_masked);
        copy_tile_to_dst_init_short(cb_x_frag_1_masked);
        end_block();
        add_binary_tile_init();
        tile_regs_acquire();
        copy_tile(cb_x_frag_1_masked, 0, 0);
        for (uint32_t k = 1; k < x_frag_1_masked_cols; ++k) {
            copy_tile(cb_x_frag_1_masked, k, 1);
            add_binary_tile(0, 1, 0);
        }
        transpose_dest_init<true>();
        transpose_dest</*32 bits*/ true>(0);
        end_block();
        sfpu_reduce_init<PoolType::SUM, DataFormat::Float32>();
        sfpu_reduce<PoolType::SUM, DataFormat::Float32, ReduceDim::REDUCE_COL>(0);
        end_block();
        fill_tile_init();
        fill_tile_bitcast(1, 0x00000000u /* 0 */);
        end_block();
        sfpu_bcast_row_init();
        sfpu_add_bcast_row(1, 0);
        transpose_dest</*32 bits*/ true>(1);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile<true>(1, cb_score, 0);
        tile_regs_release();
        cb_pop_front(cb_x_frag_1_masked, x_frag_1_masked_tiles);
        cb_push_back(cb_score, 1);
    }
    cb_pop_front(cb_index, 1);
    cb_pop_front(cb_mask, mask_tiles);
}
