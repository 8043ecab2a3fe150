// compute of 'sharded_residual' for Wormhole, units: match: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/pack.h"
#include "api/compute/tile_move_copy.h"

constexpr uint32_t cb_x = tt::CBIndex::c_0;  // 2 x 2 tiles, Float16_b, in place: this core's shard of X
constexpr uint32_t x_tiles = 2 * 2;
constexpr uint32_t cb_r = tt::CBIndex::c_1;  // 2 x 2 tiles, Float16_b, in place: this core's shard of R
constexpr uint32_t r_tiles = 2 * 2;
constexpr uint32_t cb_y = tt::CBIndex::c_16;  // 2 x 2 tiles, Float16_b, in place: this core's shard of Y
constexpr uint32_t y_tiles = 2 * 2;
constexpr uint32_t y_sub_tiles = 2;  // computed at a time

// Ends a basic block: the SDK's compiler may replay recorded instructions across calls inside one, which record others.
inline __attribute__((always_inline)) void end_block() {
    __asm__ goto("" : : : : next);
next:;
}

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup(cb_x, cb_y);
    copy_tile_to_dst_init_short(cb_x);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_wait_front(cb_r, r_tiles);
        cb_wait_front(cb_x, x_tiles);
        cb_reserve_back(cb_y, y_tiles);
        // kernel.py:26  y[i, j] = r[i, j] + x[i, j] * T.sigmoid(x[i, j])
        for (uint32_t tile = 0; tile < y_tiles; tile += y_sub_tiles) {
            end_block();
            sigmoid_tile_init();
            tile_regs_acquire();
            for (uint32_t t = 0; t < y_sub_tiles; ++t) copy_tile(cb_x, tile + t, t);
            for (uint32_t t = 0; t < y_sub_tiles; ++t) copy_tile(cb_x, tile + t, y_sub_tiles + t);
            for (uint32_t t = 0; t < y_sub_tiles; ++t) sigmoid_tile(y_sub_tiles + t);
            end_block();
            mul_binary_tile_init();
            for (uint32_t t = 0; t < y_sub_tiles; ++t) mul_binary_tile(t, y_sub_tiles + t, t);
            for (uint32_t t = 0; t < y_sub_tiles; ++t) copy_tile(cb_r, tile + t, y_sub_tiles + t);
            for (uint32_t t = 0; t < y_sub_tiles; ++t) add_binary_tile(y_sub_tiles + t, t, y_sub_tiles + t);
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t t = 0; t < y_sub_tiles; ++t) pack_tile<true>(y_sub_tiles + t, cb_y, tile + t);
            tile_regs_release();
        }
        cb_pop_front(cb_x, x_tiles);
        cb_pop_front(cb_r, r_tiles);
        cb_push_back(cb_y, y_tiles);
    }
}
