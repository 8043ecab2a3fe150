// compute of 'first_drop' for Wormhole: computes on tiles in L1.
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
constexpr uint32_t cb_rise = tt::CBIndex::c_2;  // 2 blocks of 2 x 1 tiles, Float32
constexpr uint32_t rise_tiles = 2;
constexpr uint32_t cb_scores_out = tt::CBIndex::c_16;  // 2 blocks of 2 x 2 tiles, Float32
constexpr uint32_t scores_out_rows = 2, scores_out_cols = 2, scores_out_tiles = scores_out_rows * scores_out_cols;
constexpr uint32_t cb_scores = tt::CBIndex::c_24;  // 2 x 2 tiles, Float32
constexpr uint32_t scores_rows = 2, scores_cols = 2, scores_tiles = scores_rows * scores_cols;

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup<SrcOrder::Reverse>(cb_A_s, cb_B_s, cb_scores);
    mul_binary_tile_init();
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_reserve_back(cb_scores, scores_tiles);
        reconfig_data_format_srca(cb_B_s);
        matmul_block_init(cb_A_s, cb_B_s, /*transpose*/ 0, scores_cols, scores_rows, 1);
        // kernel.py:18  for k in T.Pipelined(2, num_stages=2):
        for (uint32_t k = 0; k < 2; ++k) {
            cb_wait_front(cb_A_s, A_s_tiles);
            cb_wait_front(cb_B_s, B_s_tiles);
            // kernel.py:21  T.gemm(A_s, B_s, scores)
            pack_reconfig_l1_acc(k != 0);
            tile_regs_acquire();
            matmul_block(cb_A_s, cb_B_s, 0, 0, 0, /*transpose*/ 0, scores_cols, scores_rows, 1);
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t t = 0; t < scores_tiles; ++t) pack_tile<true>(t, cb_scores, t);
            tile_regs_release();
            cb_pop_front(cb_A_s, A_s_tiles);
            cb_pop_front(cb_B_s, B_s_tiles);
        }
        cb_push_back(cb_scores, scores_tiles);
        cb_wait_front(cb_scores, scores_tiles);
        cb_reserve_back(cb_scores_out, scores_out_tiles);
        // kernel.py:22  for i in T.serial(64):
        reconfig_data_format_srca(cb_B_s, cb_scores);
        copy_tile_to_dst_init_short(cb_scores);
        pack_reconfig_l1_acc(0);
        tile_regs_acquire();
        for (uint32_t t = 0; t < scores_out_tiles; ++t) copy_tile(cb_scores, t, t);
        tile_regs_commit();
        tile_regs_wait();
        for (uint32_t t = 0; t < scores_out_tiles; ++t) pack_tile<true>(t, cb_scores_out, t);
        tile_regs_release();
        cb_push_back(cb_scores_out, scores_out_tiles);
        cb_wait_front(cb_rise, rise_tiles);
        cb_reserve_back(cb_scores_out, scores_out_tiles);
        // kernel.py:29  scores[i, j] = scores[i, j] * rise[i]
        for (uint32_t i = 0; i < scores_out_rows; ++i) {
            tile_regs_acquire();
            for (uint32_t t = 0; t < scores_out_cols; ++t) copy_tile(cb_scores, i * scores_cols + t, t);
            copy_tile(cb_rise, i, scores_out_cols);
            for (uint32_t t = 0; t < scores_out_cols; ++t) mul_binary_tile(t, scores_out_cols, t);
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t t = 0; t < scores_out_cols; ++t) pack_tile<true>(t, cb_scores_out, i * scores_out_cols + t);
            tile_regs_release();
        }
        cb_pop_front(cb_rise, rise_tiles);
        cb_pop_front(cb_scores, scores_tiles);
        cb_push_back(cb_scores_out, scores_out_tiles);
    }
}
