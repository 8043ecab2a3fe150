// compute of 'chunk_states' for Wormhole: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/pack.h"
#include "api/compute/tile_move_copy.h"
#include "api/compute/transpose_dest.h"

constexpr uint32_t cb_k = tt::CBIndex::c_0;  // 2 blocks of 2 x 2 tiles, Float32
constexpr uint32_t k_rows = 2, k_cols = 2, k_tiles = k_rows * k_cols;
constexpr uint32_t cb_state_out = tt::CBIndex::c_16;  // 2 blocks of 2 x 2 tiles, Float32
constexpr uint32_t state_out_tiles = 2 * 2;
constexpr uint32_t cb_state = tt::CBIndex::c_24;  // 2 x 2 tiles, Float32
constexpr uint32_t state_tiles = 2 * 2;
constexpr uint32_t cb_total = tt::CBIndex::c_25;  // 2 x 2 tiles, Float32
constexpr uint32_t total_tiles = 2 * 2;
constexpr uint32_t total_sub_tiles = 2;  // computed at a time
constexpr uint32_t cb_k_t = tt::CBIndex::c_26;  // 2 x 2 tiles, Float32
constexpr uint32_t k_t_rows = 2, k_t_cols = 2, k_t_tiles = k_t_rows * k_t_cols;

// Ends a basic block: the SDK's compiler may replay recorded instructions across calls inside one, which record others.
inline __attribute__((always_inline)) void end_block() {
    __asm__ goto("" : : : : next);
next:;
}

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup(cb_state, cb_state);
    copy_tile_to_dst_init_short(cb_state);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_reserve_back(cb_state, state_tiles);
        cb_reserve_back(cb_total, total_tiles);
        // kernel.py:16  T.clear(total)
        fill_tile_init();
        tile_regs_acquire();
        fill_tile_bitcast(0, 0x00000000u /* 0 */);
        tile_regs_commit();
        tile_regs_wait();
        for (uint32_t tile = 0; tile < state_tiles; ++tile) pack_tile<true>(0, cb_state, tile);
        for (uint32_t tile = 0; tile < total_tiles; ++tile) pack_tile<true>(0, cb_total, tile);
        tile_regs_release();
        cb_push_back(cb_state, state_tiles);
        cb_wait_front(cb_state, state_tiles);
        cb_push_back(cb_total, total_tiles);
        end_block();
        add_binary_tile_init();
        // kernel.py:17  for n in T.serial(CHUNKS):
        for (uint32_t n = 0; n < 4; ++n) {
            cb_reserve_back(cb_state_out, state_out_tiles);
            // kernel.py:18  T.copy(state, H[n * SIZE, 0])
            tile_regs_acquire();
            for (uint32_t t = 0; t < state_out_tiles; ++t) copy_tile(cb_state, t, t);
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t t = 0; t < state_out_tiles; ++t) pack_tile<true>(t, cb_state_out, t);
            tile_regs_release();
            cb_pop_front(cb_state, state_tiles);
            cb_push_back(cb_state_out, state_out_tiles);
            cb_wait_front(cb_k, k_tiles);
            cb_reserve_back(cb_k_t, k_t_tiles);
            // kernel.py:20  T.transpose(k, turned)
            for (uint32_t i = 0; i < k_t_rows; ++i) {
                copy_tile_to_dst_init_short(cb_k);
                tile_regs_acquire();
                for (uint32_t t = 0; t < k_t_cols; ++t) copy_tile(cb_k, t * k_cols + i, t);
                transpose_dest_init<true>();
                for (uint32_t t = 0; t < k_t_cols; ++t) transpose_dest</*32 bits*/ true>(t);
                tile_regs_commit();
                tile_regs_wait();
                for (uint32_t t = 0; t < k_t_cols; ++t) pack_tile<true>(t, cb_k_t, i * k_t_cols + t);
                tile_regs_release();
            }
            cb_pop_front(cb_k, k_tiles);
            cb_push_back(cb_k_t, k_t_tiles);
            cb_wait_front(cb_k_t, k_t_tiles);
            cb_reserve_back(cb_state, state_tiles);
            // kernel.py:22  total[i, j] += turned[i, j]
            copy_tile_to_dst_init_short(cb_total);
            for (uint32_t tile = 0; tile < total_tiles; tile += total_sub_tiles) {
                cb_wait_front(cb_total, total_sub_tiles);
                tile_regs_acquire();
                for (uint32_t t = 0; t < total_sub_tiles; ++t) copy_tile(cb_total, t, t);
                for (uint32_t t = 0; t < total_sub_tiles; ++t) copy_tile(cb_k_t, tile + t, total_sub_tiles + t);
                for (uint32_t t = 0; t < total_sub_tiles; ++t) add_binary_tile(t, total_sub_tiles + t, t);
                cb_pop_front(cb_total, total_sub_tiles);
                tile_regs_commit();
                tile_regs_wait();
                cb_reserve_back(cb_total, total_sub_tiles);
                for (uint32_t t = 0; t < total_sub_tiles; ++t) pack_tile<true>(t, cb_total, t);
                cb_push_back(cb_total, total_sub_tiles);
                for (uint32_t t = 0; t < total_sub_tiles; ++t) pack_tile<true>(t, cb_state, tile + t);
                tile_regs_release();
            }
            cb_pop_front(cb_k_t, k_t_tiles);
            cb_push_back(cb_state, state_tiles);
            cb_wait_front(cb_state, state_tiles);
        }
        cb_pop_front(cb_state, state_tiles);
        cb_wait_front(cb_total, total_tiles);
        cb_pop_front(cb_total, total_tiles);
    }
}
