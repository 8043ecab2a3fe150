// compute of 'combine' for Wormhole: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/tile_move_copy.h"

constexpr uint32_t cb_part = tt::CBIndex::c_0;  // 2 blocks of 2 x 2 tiles, Float32
constexpr uint32_t part_tiles = 2 * 2;
constexpr uint32_t cb_total_out = tt::CBIndex::c_16;  // 2 blocks of 2 x 2 tiles, Float16_b
constexpr uint32_t total_out_tiles = 2 * 2;
constexpr uint32_t cb_total = tt::CBIndex::c_24;  // 2 x 2 tiles, Float32
constexpr uint32_t total_tiles = 2 * 2;
constexpr uint32_t total_sub_tiles = 2;  // computed at a time

// Ends a basic block: the SDK's compiler may replay recorded instructions across calls inside one, which record others.
inline __attribute__((always_inline)) void end_block() {
    __asm__ goto("" : : : : next);
next:;
}

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup(cb_total, cb_total_out);
    copy_tile_to_dst_init_short(cb_total);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_reserve_back(cb_total, total_tiles);
        // kernel.py:13  T.clear(total)
        pack_reconfig_data_format(cb_total_out, cb_total);
        fill_tile_init();
        tile_regs_acquire();
        fill_tile_bitcast(0, 0x00000000u /* 0 */);
        tile_regs_commit();
        tile_regs_wait();
        for (uint32_t tile = 0; tile < total_tiles; ++tile) pack_tile<true>(0, cb_total, tile);
        tile_regs_release();
        cb_push_back(cb_total, total_tiles);
        end_block();
        add_binary_tile_init();
        // kernel.py:14  for s in T.serial(4):
        for (uint32_t s = 0; s < 4; ++s) {
            cb_wait_front(cb_part, part_tiles);
            // kernel.py:17  total[i, j] += part[i, j]
            for (uint32_t tile = 0; tile < total_tiles; tile += total_sub_tiles) {
                cb_wait_front(cb_total, total_sub_tiles);
                tile_regs_acquire();
                for (uint32_t t = 0; t < total_sub_tiles; ++t) copy_tile(cb_total, t, t);
                for (uint32_t t = 0; t < total_sub_tiles; ++t) copy_tile(cb_part, tile + t, total_sub_tiles + t);
                for (uint32_t t = 0; t < total_sub_tiles; ++t) add_binary_tile(t, total_sub_tiles + t, t);
                cb_pop_front(cb_total, total_sub_tiles);
                tile_regs_commit();
                tile_regs_wait();
                cb_reserve_back(cb_total, total_sub_tiles);
                for (uint32_t t = 0; t < total_sub_tiles; ++t) pack_tile<true>(t, cb_total, t);
                cb_push_back(cb_total, total_sub_tiles);
                tile_regs_release();
            }
            cb_pop_front(cb_part, part_tiles);
        }
        cb_wait_front(cb_total, total_tiles);
        cb_reserve_back(cb_total_out, total_out_tiles);
        // kernel.py:18  T.copy(total, C[by * 64, bx * 64])
        pack_reconfig_data_format(cb_total, cb_total_out);
        tile_regs_acquire();
        for (uint32_t t = 0; t < total_out_tiles; ++t) copy_tile(cb_total, t, t);
        tile_regs_commit();
        tile_regs_wait();
        for (uint32_t t = 0; t < total_out_tiles; ++t) pack_tile<true>(t, cb_total_out, t);
        tile_regs_release();
        cb_pop_front(cb_total, total_tiles);
        cb_push_back(cb_total_out, total_out_tiles);
    }
}
