// compute of 'label_scores_0' for Wormhole, units: match: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/binary_max_min.h"
#include "api/compute/compute_kernel_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/eltwise_unary/where.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/sfpu_binary_bcast.h"
#include "api/compute/tile_move_copy.h"
#include "api/compute/transpose_dest.h"

constexpr uint32_t cb_x = tt::CBIndex::c_0;  // 2 blocks of 1 x 4 tiles, Float32
constexpr uint32_t x_tiles = 4;
constexpr uint32_t cb_mask = tt::CBIndex::c_1;  // 2 x 1 tiles, Float16_b
constexpr uint32_t mask_tiles = 2;
constexpr uint32_t cb_mask_1 = tt::CBIndex::c_2;  // 1 x 1 tiles, Float16_b
constexpr uint32_t cb_most_end = tt::CBIndex::c_16;  // 1 x 1 tiles, Float32, in place: this core's shard of largest
constexpr uint32_t cb_most = tt::CBIndex::c_24;  // 1 x 1 tiles, Float32
constexpr uint32_t cb_x_frag_masked = tt::CBIndex::c_25;  // 1 x 4 tiles, Float32
constexpr uint32_t x_frag_masked_cols = 4, x_frag_masked_tiles = x_frag_masked_cols;

// Ends a basic block: the SDK's compiler may replay recorded instructions across calls inside one, which record others.
inline __attribute__((always_inline)) void end_block() {
    __asm__ goto("" : : : : next);
next:;
}

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core
    const uint32_t first_column = get_arg_val<uint32_t>(1);  // first column of this core's blocks

    compute_kernel_hw_startup(cb_mask, cb_x_frag_masked);
    cb_wait_front(cb_mask, mask_tiles);
    cb_wait_front(cb_mask_1, 1);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        const uint32_t bx = first_column + unit;
        cb_wait_front(cb_x, x_tiles);
        cb_reserve_back(cb_x_frag_masked, x_frag_masked_tiles);
        // kernel.py:18  T.reduce_max(x, most, dim=1)
        for (uint32_t j = 0; j < x_frag_masked_cols; ++j) {
            reconfig_data_format_srca(cb_mask);
            copy_tile_to_dst_init_short(cb_mask);
            end_block();
            fill_tile_init();
            tile_regs_acquire();
            copy_tile(cb_mask, (2 < j ? 0 : 1), 0);
            reconfig_data_format_srca(cb_mask, cb_x);
            copy_tile_to_dst_init_short(cb_x);
            copy_tile(cb_x, j, 1);
            fill_tile_bitcast(2, 0xff800000u /* -inf */);
            end_block();
            where_tile_init();
            where_tile<DataFormat::Float32>(0, 1, 2, 0);
            tile_regs_commit();
            tile_regs_wait();
            pack_tile<true>(0, cb_x_frag_masked, j);
            tile_regs_release();
        }
        cb_pop_front(cb_x, x_tiles);
        cb_push_back(cb_x_frag_masked, x_frag_masked_tiles);
        cb_wait_front(cb_x_frag_masked, x_frag_masked_tiles);
        cb_reserve_back(cb_most, 1);
        reconfig_data_format_srca(cb_x_frag_masked);
        copy_tile_to_dst_init_short(cb_x_frag_masked);
        end_block();
        binary_max_tile_init();
        tile_regs_acquire();
        copy_tile(cb_x_frag_masked, 0, 0);
        for (uint32_t k = 1; k < x_frag_masked_cols; ++k) {
            copy_tile(cb_x_frag_masked, k, 1);
            binary_max_tile(0, 1, 0);
        }
        transpose_dest_init<true>();
        transpose_dest</*32 bits*/ true>(0);
        end_block();
        sfpu_reduce_init<PoolType::MAX, DataFormat::Float32>();
        sfpu_reduce<PoolType::MAX, DataFormat::Float32, ReduceDim::REDUCE_COL>(0);
        end_block();
        fill_tile_init();
        fill_tile_bitcast(1, 0x00000000u /* 0 */);
        end_block();
        sfpu_bcast_row_init();
        sfpu_add_bcast_row(1, 0);
        transpose_dest</*32 bits*/ true>(1);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile<true>(1, cb_most, 0);
        tile_regs_release();
        cb_pop_front(cb_x_frag_masked, x_frag_masked_tiles);
        if (bx < 1) {
            cb_push_back(cb_most, 1);
            cb_wait_front(cb_most, 1);
            cb_reserve_back(cb_most_end, 1);
            // kernel.py:19  T.copy(most, largest[bx * 32])
            copy_tile_to_dst_init_short(cb_most);
            tile_regs_acquire();
            copy_tile(cb_most, 0, 0);
            tile_regs_commit();
            tile_regs_wait();
            pack_tile<true>(0, cb_most_end, 0);
            tile_regs_release();
        } else {
            cb_push_back(cb_most, 1);
            cb_wait_front(cb_most, 1);
            cb_reserve_back(cb_most_end, 1);
            // kernel.py:19  T.copy(most, largest[bx * 32])
            reconfig_data_format_srca(cb_x_frag_masked, cb_mask_1);
            copy_tile_to_dst_init_short(cb_mask_1);
            fill_tile_init();
            tile_regs_acquire();
            copy_tile(cb_mask_1, 0, 1);
            reconfig_data_format_srca(cb_mask_1, cb_most);
            copy_tile_to_dst_init_short(cb_most);
            copy_tile(cb_most, 0, 0);
            fill_tile_bitcast(2, 0x00000000u /* 0 */);
            end_block();
            where_tile_init();
            where_tile<DataFormat::Float32>(1, 0, 2, 0);
            tile_regs_commit();
            tile_regs_wait();
            pack_tile<true>(0, cb_most_end, 0);
            tile_regs_release();
        }
        cb_pop_front(cb_most, 1);
        cb_push_back(cb_most_end, 1);
    }
    cb_pop_front(cb_mask, mask_tiles);
    cb_pop_front(cb_mask_1, 1);
}
