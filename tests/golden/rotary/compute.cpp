// compute of 'rotary' for Wormhole: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/negative.h"
#include "api/compute/pack.h"
#include "api/compute/tile_move_copy.h"

constexpr uint32_t cb_c = tt::CBIndex::c_0;  // 2 blocks of 1 x 2 tiles, Float32
constexpr uint32_t c_tiles = 2;
constexpr uint32_t cb_x_matrix = tt::CBIndex::c_1;  // 2 blocks of 1 x 2 tiles, Float32
constexpr uint32_t x_matrix_tiles = 2;
constexpr uint32_t cb_turned_out = tt::CBIndex::c_16;  // 2 blocks of 1 x 2 tiles, Float32
constexpr uint32_t turned_out_tiles = 2;
constexpr uint32_t cb_x = tt::CBIndex::c_24;  // 1 x 2 tiles, Float32
constexpr uint32_t x_tiles = 3 * 2;
constexpr uint32_t cb_total = tt::CBIndex::c_25;  // 1 x 2 tiles, Float32
constexpr uint32_t total_tiles = 2;
constexpr uint32_t cb_turned = tt::CBIndex::c_26;  // 1 x 2 tiles, Float32
constexpr uint32_t turned_tiles = 2;

// Ends a basic block: the SDK's compiler may replay recorded instructions across calls inside one, which record others.
inline __attribute__((always_inline)) void end_block() {
    __asm__ goto("" : : : : next);
next:;
}

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup(cb_x_matrix, cb_x);
    copy_tile_to_dst_init_short(cb_x_matrix);
    add_binary_tile_init();
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_reserve_back(cb_x, x_tiles);
        // kernel.py:18  T.copy(X, x)
        for (uint32_t x_0 = 0; x_0 < 3; ++x_0) {
            cb_wait_front(cb_x_matrix, x_matrix_tiles);
            tile_regs_acquire();
            for (uint32_t t = 0; t < 2; ++t) copy_tile(cb_x_matrix, t, t);
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t t = 0; t < 2; ++t) pack_tile<true>(t, cb_x, x_0 * 2 + t);
            tile_regs_release();
            cb_pop_front(cb_x_matrix, x_matrix_tiles);
        }
        cb_push_back(cb_x, x_tiles);
        cb_wait_front(cb_x, x_tiles);
        cb_reserve_back(cb_total, total_tiles);
        // kernel.py:20  T.reduce_sum(x, total, dim=0)
        tile_regs_acquire();
        for (uint32_t t = 0; t < 2; ++t) copy_tile(cb_x, t, t);
        tile_regs_commit();
        tile_regs_wait();
        for (uint32_t t = 0; t < 2; ++t) pack_tile<true>(t, cb_total, t);
        tile_regs_release();
        cb_push_back(cb_total, total_tiles);
        for (uint32_t i = 0; i < 2; ++i) {
            cb_wait_front(cb_total, 2);
            tile_regs_acquire();
            for (uint32_t t = 0; t < 2; ++t) copy_tile(cb_total, t, t);
            for (uint32_t t = 0; t < 2; ++t) copy_tile(cb_x, i * 2 + 2 + t, 2 + t);
            for (uint32_t t = 0; t < 2; ++t) add_binary_tile(t, 2 + t, t);
            cb_pop_front(cb_total, 2);
            tile_regs_commit();
            tile_regs_wait();
            cb_reserve_back(cb_total, 2);
            for (uint32_t t = 0; t < 2; ++t) pack_tile<true>(t, cb_total, t);
            cb_push_back(cb_total, 2);
            tile_regs_release();
        }
        cb_pop_front(cb_x, x_tiles);
        cb_wait_front(cb_total, total_tiles);
        cb_reserve_back(cb_turned, turned_tiles);
        // kernel.py:22  turned[i, j] = T.if_then_else(j < DIM // 2, -total[i, j + DIM // 2], total[i, j - DIM // 2])
        negative_tile_init();
        tile_regs_acquire();
        copy_tile(cb_total, 1, 0);
        negative_tile(0);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile<true>(0, cb_turned, 0);
        tile_regs_release();
        tile_regs_acquire();
        copy_tile(cb_total, 0, 0);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile<true>(0, cb_turned, 1);
        tile_regs_release();
        cb_push_back(cb_turned, turned_tiles);
        cb_wait_front(cb_turned, turned_tiles);
        cb_wait_front(cb_c, c_tiles);
        cb_reserve_back(cb_turned_out, turned_out_tiles);
        // kernel.py:25  turned[i, j] = turned[i, j] * c[i, j] + total[i, j]
        end_block();
        mul_binary_tile_init();
        tile_regs_acquire();
        for (uint32_t t = 0; t < turned_out_tiles; ++t) copy_tile(cb_turned, t, t);
        for (uint32_t t = 0; t < turned_out_tiles; ++t) copy_tile(cb_c, t, turned_out_tiles + t);
        for (uint32_t t = 0; t < turned_out_tiles; ++t) mul_binary_tile(t, turned_out_tiles + t, t);
        for (uint32_t t = 0; t < turned_out_tiles; ++t) copy_tile(cb_total, t, turned_out_tiles + t);
        for (uint32_t t = 0; t < turned_out_tiles; ++t) add_binary_tile(t, turned_out_tiles + t, t);
        tile_regs_commit();
        tile_regs_wait();
        for (uint32_t t = 0; t < turned_out_tiles; ++t) pack_tile<true>(t, cb_turned_out, t);
        tile_regs_release();
        cb_pop_front(cb_c, c_tiles);
        cb_pop_front(cb_total, total_tiles);
        cb_pop_front(cb_turned, turned_tiles);
        cb_push_back(cb_turned_out, turned_out_tiles);
    }
}
