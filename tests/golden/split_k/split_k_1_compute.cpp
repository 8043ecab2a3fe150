// compute of 'split_k_1' for Wormhole: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/tile_move_copy.h"

constexpr uint32_t cb_A_s = tt::CBIndex::c_0;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t A_s_tiles = 2;
constexpr uint32_t cb_B_s = tt::CBIndex::c_1;  // 2 blocks of 1 x 2 tiles, Float16_b
constexpr uint32_t B_s_tiles = 2;
constexpr uint32_t cb_C_tile = tt::CBIndex::c_2;  // 2 blocks of 2 x 2 tiles, Float32
constexpr uint32_t C_tile_tiles = 2 * 2;
constexpr uint32_t cb_C_tile_1 = tt::CBIndex::c_16;  // 2 blocks of 2 x 2 tiles, Float32
constexpr uint32_t C_tile_1_tiles = 2 * 2;
constexpr uint32_t C_tile_1_sub_tiles = 2;  // computed at a time
constexpr uint32_t cb_acc = tt::CBIndex::c_24;  // 2 x 2 tiles, Float32
constexpr uint32_t acc_rows = 2, acc_cols = 2, acc_tiles = acc_rows * acc_cols;

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup<SrcOrder::Reverse>(cb_A_s, cb_B_s, cb_acc);
    add_binary_tile_init();
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        // kernel.py:16  with T.Kernel(2, 2, 4, threads=128) as (bx, by, bz):
        for (uint32_t bz = 0; bz < 4; ++bz) {
            cb_reserve_back(cb_acc, acc_tiles);
            reconfig_data_format_srca(cb_B_s);
            matmul_block_init(cb_A_s, cb_B_s, /*transpose*/ 0, acc_cols, acc_rows, 1);
            // kernel.py:21  for k in T.Pipelined(2, num_stages=2):
            for (uint32_t k = 0; k < 2; ++k) {
                cb_wait_front(cb_A_s, A_s_tiles);
                cb_wait_front(cb_B_s, B_s_tiles);
                // kernel.py:24  T.gemm(A_s, B_s, acc)
                pack_reconfig_l1_acc(k != 0);
                tile_regs_acquire();
                matmul_block(cb_A_s, cb_B_s, 0, 0, 0, /*transpose*/ 0, acc_cols, acc_rows, 1);
                tile_regs_commit();
                tile_regs_wait();
                for (uint32_t t = 0; t < acc_tiles; ++t) pack_tile<true>(t, cb_acc, t);
                tile_regs_release();
                cb_pop_front(cb_A_s, A_s_tiles);
                cb_pop_front(cb_B_s, B_s_tiles);
            }
            cb_wait_front(cb_C_tile, C_tile_tiles);
            cb_push_back(cb_acc, acc_tiles);
            cb_wait_front(cb_acc, acc_tiles);
            cb_reserve_back(cb_C_tile_1, C_tile_1_tiles);
            // kernel.py:25  T.atomic_add(C[by * 64, bx * 64], acc)
            reconfig_data_format_srca(cb_B_s, cb_C_tile);
            copy_tile_to_dst_init_short(cb_C_tile);
            pack_reconfig_l1_acc(0);
            for (uint32_t tile = 0; tile < C_tile_1_tiles; tile += C_tile_1_sub_tiles) {
                tile_regs_acquire();
                for (uint32_t t = 0; t < C_tile_1_sub_tiles; ++t) copy_tile(cb_C_tile, tile + t, t);
                for (uint32_t t = 0; t < C_tile_1_sub_tiles; ++t) copy_tile(cb_acc, tile + t, C_tile_1_sub_tiles + t);
                for (uint32_t t = 0; t < C_tile_1_sub_tiles; ++t) add_binary_tile(t, C_tile_1_sub_tiles + t, t);
                tile_regs_commit();
                tile_regs_wait();
                for (uint32_t t = 0; t < C_tile_1_sub_tiles; ++t) pack_tile<true>(t, cb_C_tile_1, tile + t);
                tile_regs_release();
            }
            cb_pop_front(cb_C_tile, C_tile_tiles);
            cb_pop_front(cb_acc, acc_tiles);
            cb_push_back(cb_C_tile_1, C_tile_1_tiles);
        }
    }
}
