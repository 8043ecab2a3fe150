// compute of 'attention' for Wormhole: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/binary_max_min.h"
#include "api/compute/compute_kernel_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/binop_with_scalar.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/reduce.h"
#include "api/compute/tile_move_copy.h"

constexpr uint32_t cb_q = tt::CBIndex::c_0;  // 2 blocks of 2 x 2 tiles, Float16_b
constexpr uint32_t q_rows = 2, q_cols = 2, q_tiles = q_rows * q_cols;
constexpr uint32_t cb_k = tt::CBIndex::c_1;  // 2 x 2 tiles, Float16_b
constexpr uint32_t k_rows = 2, k_cols = 2, k_tiles = k_rows * k_cols;
constexpr uint32_t cb_v = tt::CBIndex::c_2;  // 2 x 2 tiles, Float16_b
constexpr uint32_t v_rows = 2, v_cols = 2, v_tiles = v_rows * v_cols;
constexpr uint32_t cb_mask = tt::CBIndex::c_3;  // 3 x 1 tiles, Float16_b
constexpr uint32_t mask_tiles = 3;
constexpr uint32_t cb_ones = tt::CBIndex::c_4;  // 1 x 1 tiles, Float16_b
constexpr uint32_t cb_out_out = tt::CBIndex::c_16;  // 2 blocks of 2 x 2 tiles, Float16_b
constexpr uint32_t out_out_rows = 2, out_out_cols = 2, out_out_tiles = out_out_rows * out_out_cols;
constexpr uint32_t cb_scores_fp32 = tt::CBIndex::c_23;  // 2 x 2 tiles, Float32
constexpr uint32_t cb_scores = tt::CBIndex::c_24;  // 2 x 2 tiles, Float32
constexpr uint32_t scores_rows = 2, scores_cols = 2, scores_tiles = scores_rows * scores_cols;
constexpr uint32_t cb_weights = tt::CBIndex::c_25;  // 2 x 2 tiles, Float16_b
constexpr uint32_t weights_rows = 2, weights_cols = 2, weights_tiles = weights_rows * weights_cols;
constexpr uint32_t cb_out = tt::CBIndex::c_26;  // 2 x 2 tiles, Float32
constexpr uint32_t out_rows = 2, out_cols = 2, out_tiles = out_rows * out_cols;
constexpr uint32_t cb_largest = tt::CBIndex::c_27;  // 2 x 1 tiles, Float32
constexpr uint32_t largest_tiles = 2;
constexpr uint32_t cb_factor = tt::CBIndex::c_28;  // 2 x 1 tiles, Float32
constexpr uint32_t factor_tiles = 2;
constexpr uint32_t cb_total = tt::CBIndex::c_29;  // 2 x 1 tiles, Float32
constexpr uint32_t total_rows = 2, total_tiles = total_rows;
constexpr uint32_t cb_largest_tile_lane = tt::CBIndex::c_30;  // 2 x 1 tiles, Float32
constexpr uint32_t largest_tile_lane_rows = 2, largest_tile_lane_tiles = largest_tile_lane_rows;
constexpr uint32_t cb_total_once = tt::CBIndex::c_31;  // 2 x 1 tiles, Float32
constexpr uint32_t total_once_tiles = 2;

// Ends a basic block: the SDK's compiler may replay recorded instructions across calls inside one, which record others.
inline __attribute__((always_inline)) void end_block() {
    __asm__ goto("" : : : : next);
next:;
}

void kernel_main() {
    const uint32_t unit_start = get_arg_val<uint32_t>(0);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(1);  // units of work of this core

    compute_kernel_hw_startup<SrcOrder::Reverse>(cb_q, cb_k, cb_total);
    cb_wait_front(cb_mask, mask_tiles);
    cb_wait_front(cb_ones, 1);
    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit % 2;
        cb_reserve_back(cb_total, total_tiles);
        cb_reserve_back(cb_largest, largest_tiles);
        // kernel.py:33  T.fill(total, 0)
        // kernel.py:34  T.fill(largest, -T.infinity("float32"))
        pack_reconfig_data_format(cb_total);
        fill_tile_init();
        tile_regs_acquire();
        fill_tile_bitcast(0, 0x00000000u /* 0 */);
        fill_tile_bitcast(1, 0xff800000u /* -inf */);
        tile_regs_commit();
        tile_regs_wait();
        for (uint32_t tile = 0; tile < total_tiles; ++tile) pack_tile<true>(0, cb_total, tile);
        for (uint32_t tile = 0; tile < largest_tiles; ++tile) pack_tile<true>(1, cb_largest, tile);
        tile_regs_release();
        cb_wait_front(cb_q, q_tiles);
        cb_push_back(cb_largest, largest_tiles);
        cb_push_back(cb_total, total_tiles);
        reconfig_data_format_srca(cb_k);
        // kernel.py:35  for n in T.Pipelined(bx + 1, num_stages=1):
        for (uint32_t n = 0; n < bx + 1; ++n) {
            cb_wait_front(cb_k, k_tiles);
            cb_reserve_back(cb_scores, scores_tiles);
            // kernel.py:38  scores[i, j] = T.if_then_else(bx * BLOCK + i >= n * BLOCK + j, 0, -T.infinity("float32"))
            // kernel.py:39  T.gemm(q, k, scores, transpose_B=True)
            matmul_block_init(cb_q, cb_k, /*transpose*/ 1, scores_cols, scores_rows, q_cols);
            pack_reconfig_l1_acc(0);
            tile_regs_acquire();
            if (bx <= n) {
                copy_tile_to_dst_init_short(cb_mask);
                for (uint32_t si = 0; si < scores_rows; ++si) {
                    for (uint32_t sj = 0; sj < scores_cols; ++sj) {
                        copy_tile(cb_mask, (si < sj ? 0 : (si == sj ? 1 : 2)), si * scores_cols + sj);
                    }
                }
                matmul_block_init(cb_q, cb_k, /*transpose*/ 1, scores_cols, scores_rows, q_cols);
            }
            for (uint32_t kk = 0; kk < k_cols; ++kk) {
                matmul_block(cb_q, cb_k, kk, kk * k_rows, 0, /*transpose*/ 1, scores_cols, scores_rows, q_cols);
            }
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t t = 0; t < scores_tiles; ++t) pack_tile<true>(t, cb_scores, t);
            tile_regs_release();
            cb_pop_front(cb_k, k_tiles);
            cb_push_back(cb_scores, scores_tiles);
            cb_wait_front(cb_scores, scores_tiles);
            cb_reserve_back(cb_largest_tile_lane, largest_tile_lane_tiles);
            // kernel.py:42  T.reduce_max(scores, largest, dim=1, clear=False)
            reconfig_data_format_srca(cb_k, cb_scores);
            reduce_init<PoolType::MAX, ReduceDim::REDUCE_ROW>(cb_scores, cb_ones, cb_largest_tile_lane);
            tile_regs_acquire();
            for (uint32_t t = 0; t < scores_rows; ++t) {
                for (uint32_t k = 0; k < scores_cols; ++k) {
                    reduce_tile<PoolType::MAX, ReduceDim::REDUCE_ROW>(cb_scores, cb_ones, t * scores_cols + k, 0, t);
                }
            }
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t t = 0; t < scores_rows; ++t) pack_tile<true>(t, cb_largest_tile_lane, t);
            tile_regs_release();
            reduce_uninit(cb_scores);
            cb_push_back(cb_largest_tile_lane, largest_tile_lane_tiles);
            cb_wait_front(cb_largest_tile_lane, largest_tile_lane_tiles);
            cb_reserve_back(cb_factor, factor_tiles);
            // kernel.py:44  largest[i] = T.max(largest[i], before[i])
            cb_wait_front(cb_largest, largest_tiles);
            reconfig_data_format_srca(cb_scores, cb_ones);
            reconfig_data_format_srcb(cb_q, cb_largest_tile_lane);
            matmul_block_init(cb_largest_tile_lane, cb_ones, /*transpose*/ 0, 1, largest_tile_lane_rows, 1);
            binary_max_tile_init();
            tile_regs_acquire();
            matmul_block(cb_largest_tile_lane, cb_ones, 0, 0, 0, /*transpose*/ 0, 1, largest_tile_lane_rows, 1);
            reconfig_data_format_srca(cb_ones, cb_largest);
            copy_tile_to_dst_init_short(cb_largest);
            for (uint32_t t = 0; t < largest_tiles; ++t) copy_tile(cb_largest, t, largest_tiles + t);
            for (uint32_t t = 0; t < largest_tiles; ++t) binary_max_tile(t, largest_tiles + t, t);
            end_block();
            sub_binary_tile_init();
            for (uint32_t t = 0; t < largest_tiles; ++t) sub_binary_tile(largest_tiles + t, t, largest_tiles + t);
            end_block();
            binop_with_scalar_tile_init();
            for (uint32_t t = 0; t < largest_tiles; ++t) {
                mul_unary_tile(largest_tiles + t, 0x3e38aa3bu /* 0.18033688 */);
            }
            end_block();
            exp2_tile_init();
            for (uint32_t t = 0; t < largest_tiles; ++t) exp2_tile(largest_tiles + t);
            cb_pop_front(cb_largest, largest_tiles);
            tile_regs_commit();
            tile_regs_wait();
            cb_reserve_back(cb_largest, largest_tiles);
            for (uint32_t t = 0; t < largest_tiles; ++t) pack_tile<true>(t, cb_largest, t);
            cb_push_back(cb_largest, largest_tiles);
            for (uint32_t t = 0; t < largest_tiles; ++t) pack_tile<true>(largest_tiles + t, cb_factor, t);
            tile_regs_release();
            cb_pop_front(cb_largest_tile_lane, largest_tile_lane_tiles);
            cb_wait_front(cb_largest, largest_tiles);
            cb_reserve_back(cb_weights, weights_tiles);
            // kernel.py:48  scores[i, j] = T.exp2(scores[i, j] * SCALE - largest[i] * SCALE)
            for (uint32_t i = 0; i < scores_rows; ++i) {
                cb_wait_front(cb_scores, scores_cols);
                pack_reconfig_data_format(cb_scores);
                end_block();
                sub_binary_tile_init();
                tile_regs_acquire();
                for (uint32_t t = 0; t < scores_cols; ++t) copy_tile(cb_scores_fp32, i * scores_cols + t, t);
                copy_tile(cb_largest, i, scores_cols);
                for (uint32_t t = 0; t < scores_cols; ++t) sub_binary_tile(t, scores_cols, t);
                end_block();
                binop_with_scalar_tile_init();
                for (uint32_t t = 0; t < scores_cols; ++t) mul_unary_tile(t, 0x3e38aa3bu /* 0.18033688 */);
                end_block();
                exp2_tile_init();
                for (uint32_t t = 0; t < scores_cols; ++t) exp2_tile(t);
                cb_pop_front(cb_scores, scores_cols);
                tile_regs_commit();
                tile_regs_wait();
                cb_reserve_back(cb_scores, scores_cols);
                for (uint32_t t = 0; t < scores_cols; ++t) pack_tile<true>(t, cb_scores, t);
                cb_push_back(cb_scores, scores_cols);
                pack_reconfig_data_format(cb_scores, cb_weights);
                for (uint32_t t = 0; t < scores_cols; ++t) pack_tile<true>(t, cb_weights, i * weights_cols + t);
                tile_regs_release();
            }
            cb_wait_front(cb_scores, scores_tiles);
            cb_push_back(cb_factor, factor_tiles);
            cb_wait_front(cb_factor, factor_tiles);
            // kernel.py:49  T.reduce_sum(scores, part, dim=1)
            // kernel.py:51  total[i] = total[i] * factor[i] + part[i]
            pack_reconfig_data_format(cb_total);
            end_block();
            mul_binary_tile_init();
            for (uint32_t i = 0; i < total_rows; ++i) {
                cb_wait_front(cb_total, 1);
                reconfig_data_format_srca(cb_largest, cb_ones);
                matmul_block_init(cb_scores, cb_ones, /*transpose*/ 0, 1, 1, scores_cols);
                tile_regs_acquire();
                for (uint32_t kk = 0; kk < scores_cols; ++kk) {
                    matmul_block(cb_scores, cb_ones, i * scores_cols + kk, 0, 0, /*transpose*/ 0, 1, 1, scores_cols);
                }
                reconfig_data_format_srca(cb_ones, cb_total);
                copy_tile_to_dst_init_short(cb_total);
                copy_tile(cb_total, 0, 1);
                copy_tile(cb_factor, i, 2);
                mul_binary_tile(1, 2, 1);
                add_binary_tile(1, 0, 1);
                cb_pop_front(cb_total, 1);
                tile_regs_commit();
                tile_regs_wait();
                cb_reserve_back(cb_total, 1);
                pack_tile<true>(1, cb_total, 0);
                cb_push_back(cb_total, 1);
                tile_regs_release();
            }
            cb_pop_front(cb_scores, scores_tiles);
            if (n != 0) {
                // kernel.py:54  out[i, j] *= factor[i]
                for (uint32_t i = 0; i < out_rows; ++i) {
                    cb_wait_front(cb_out, out_cols);
                    tile_regs_acquire();
                    for (uint32_t t = 0; t < out_cols; ++t) copy_tile(cb_out, t, t);
                    copy_tile(cb_factor, i, out_cols);
                    for (uint32_t t = 0; t < out_cols; ++t) mul_binary_tile(t, out_cols, t);
                    cb_pop_front(cb_out, out_cols);
                    tile_regs_commit();
                    tile_regs_wait();
                    cb_reserve_back(cb_out, out_cols);
                    for (uint32_t t = 0; t < out_cols; ++t) pack_tile<true>(t, cb_out, t);
                    cb_push_back(cb_out, out_cols);
                    tile_regs_release();
                }
                cb_wait_front(cb_out, out_tiles);
                cb_pop_front(cb_out, out_tiles);
            }
            cb_pop_front(cb_factor, factor_tiles);
            cb_push_back(cb_weights, weights_tiles);
            cb_wait_front(cb_weights, weights_tiles);
            cb_wait_front(cb_v, v_tiles);
            cb_reserve_back(cb_out, out_tiles);
            // kernel.py:56  T.gemm(weights, v, out)
            reconfig_data_format_srca(cb_total, cb_v);
            reconfig_data_format_srcb(cb_largest_tile_lane, cb_weights);
            matmul_block_init(cb_weights, cb_v, /*transpose*/ 0, out_cols, out_rows, weights_cols);
            pack_reconfig_l1_acc(n != 0);
            tile_regs_acquire();
            for (uint32_t kk = 0; kk < v_rows; ++kk) {
                matmul_block(cb_weights, cb_v, kk, kk * v_cols, 0, /*transpose*/ 0, out_cols, out_rows, weights_cols);
            }
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t t = 0; t < out_tiles; ++t) pack_tile<true>(t, cb_out, t);
            tile_regs_release();
            cb_pop_front(cb_v, v_tiles);
            cb_pop_front(cb_weights, weights_tiles);
            cb_push_back(cb_out, out_tiles);
        }
        cb_pop_front(cb_q, q_tiles);
        cb_wait_front(cb_total, total_tiles);
        cb_reserve_back(cb_total_once, total_once_tiles);
        // kernel.py:58  out[i, j] /= total[i]
        reconfig_data_format_srca(cb_v, cb_total);
        copy_tile_to_dst_init_short(cb_total);
        pack_reconfig_l1_acc(0);
        fill_tile_init();
        tile_regs_acquire();
        fill_tile_bitcast(total_once_tiles, 0x3f800000u /* 1 */);
        for (uint32_t t = 0; t < total_once_tiles; ++t) copy_tile(cb_total, t, t);
        end_block();
        div_binary_tile_init();
        for (uint32_t t = 0; t < total_once_tiles; ++t) div_binary_tile(total_once_tiles, t, t);
        tile_regs_commit();
        tile_regs_wait();
        for (uint32_t t = 0; t < total_once_tiles; ++t) pack_tile<true>(t, cb_total_once, t);
        tile_regs_release();
        cb_pop_front(cb_total, total_tiles);
        cb_wait_front(cb_out, out_tiles);
        cb_push_back(cb_total_once, total_once_tiles);
        cb_wait_front(cb_total_once, total_once_tiles);
        cb_reserve_back(cb_out_out, out_out_tiles);
        pack_reconfig_data_format(cb_total, cb_out_out);
        end_block();
        mul_binary_tile_init();
        for (uint32_t i = 0; i < out_out_rows; ++i) {
            tile_regs_acquire();
            for (uint32_t t = 0; t < out_out_cols; ++t) copy_tile(cb_out, i * out_cols + t, t);
            copy_tile(cb_total_once, i, out_out_cols);
            for (uint32_t t = 0; t < out_out_cols; ++t) mul_binary_tile(t, out_out_cols, t);
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t t = 0; t < out_out_cols; ++t) pack_tile<true>(t, cb_out_out, i * out_out_cols + t);
            tile_regs_release();
        }
        cb_pop_front(cb_out, out_tiles);
        cb_pop_front(cb_total_once, total_once_tiles);
        cb_push_back(cb_out_out, out_out_tiles);
        cb_wait_front(cb_largest, largest_tiles);
        cb_pop_front(cb_largest, largest_tiles);
    }
    cb_pop_front(cb_mask, mask_tiles);
    cb_pop_front(cb_ones, 1);
}
