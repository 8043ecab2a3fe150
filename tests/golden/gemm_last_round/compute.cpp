// compute of 'matmul' for Wormhole, units: rectangle: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/bcast.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/relu.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/tile_move_copy.h"

constexpr uint32_t cb_A_shared = tt::CBIndex::c_0;  // 2 blocks of 8 x 2 tiles, Float16_b
constexpr uint32_t A_shared_rows = 8, A_shared_cols = 2, A_shared_tiles = A_shared_rows * A_shared_cols;
constexpr uint32_t cb_B_shared = tt::CBIndex::c_1;  // 2 blocks of 2 x 8 tiles, Float16_b
constexpr uint32_t B_shared_rows = 2, B_shared_cols = 8, B_shared_tiles = B_shared_rows * B_shared_cols;
constexpr uint32_t cb_bias_shared = tt::CBIndex::c_2;  // 2 blocks of 1 x 8 tiles, Float32, first rows only
constexpr uint32_t bias_shared_tiles = 8;
constexpr uint32_t cb_zeros = tt::CBIndex::c_3;  // 1 x 1 tiles, Float16_b
constexpr uint32_t cb_C_local_out = tt::CBIndex::c_16;  // 2 blocks of 2 x 8 tiles, Float16_b
constexpr uint32_t C_local_out_rows = 2, C_local_out_cols = 8, C_local_out_tiles = C_local_out_rows * C_local_out_cols;
constexpr uint32_t C_local_out_sub_cols = 2;  // computed at a time
constexpr uint32_t cb_C_local = tt::CBIndex::c_24;  // 8 x 8 tiles, Float32
constexpr uint32_t C_local_rows = 8, C_local_cols = 8, C_local_tiles = C_local_rows * C_local_cols;
constexpr uint32_t C_local_sub_rows = 2, C_local_sub_cols = 2;  // computed at a time

// Ends a basic block: the SDK's compiler may replay recorded instructions across calls inside one, which record others.
inline __attribute__((always_inline)) void end_block() {
    __asm__ goto("" : : : : next);
next:;
}

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup<SrcOrder::Reverse>(cb_A_shared, cb_B_shared, cb_C_local);
    cb_wait_front(cb_zeros, 1);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_reserve_back(cb_C_local, C_local_tiles);
        reconfig_data_format_srca(cb_B_shared);
        reconfig_data_format_srcb(cb_A_shared);
        matmul_block_init(cb_A_shared, cb_B_shared, /*transpose*/ 0, C_local_sub_cols, C_local_sub_rows, A_shared_cols);
        pack_reconfig_data_format(cb_C_local);
        // kernel.py:22  for k in T.Pipelined(16, num_stages=2):
        for (uint32_t k = 0; k < 15; ++k) {
            cb_wait_front(cb_A_shared, A_shared_tiles);
            cb_wait_front(cb_B_shared, B_shared_tiles);
            // kernel.py:25  T.gemm(A_shared, B_shared, C_local)
            pack_reconfig_l1_acc(k != 0);
            for (uint32_t i = 0; i < C_local_rows; i += C_local_sub_rows) {
                for (uint32_t j = 0; j < C_local_cols; j += C_local_sub_cols) {
                    tile_regs_acquire();
                    for (uint32_t kk = 0; kk < B_shared_rows; ++kk) {
                        matmul_block(cb_A_shared, cb_B_shared, i * A_shared_cols + kk, kk * B_shared_cols + j, 0,
                            /*transpose*/ 0, C_local_sub_cols, C_local_sub_rows, A_shared_cols);
                    }
                    tile_regs_commit();
                    tile_regs_wait();
                    for (uint32_t si = 0; si < C_local_sub_rows; ++si) {
                        for (uint32_t sj = 0; sj < C_local_sub_cols; ++sj) {
                            pack_tile<true>(si * C_local_sub_cols + sj, cb_C_local, (i + si) * C_local_cols + j + sj);
                        }
                    }
                    tile_regs_release();
                }
            }
            cb_pop_front(cb_A_shared, A_shared_tiles);
            cb_pop_front(cb_B_shared, B_shared_tiles);
        }
        cb_wait_front(cb_A_shared, A_shared_tiles);
        cb_wait_front(cb_B_shared, B_shared_tiles);
        cb_wait_front(cb_bias_shared, bias_shared_tiles);
        cb_push_back(cb_C_local, C_local_tiles);
        cb_wait_front(cb_C_local, C_local_tiles);
        pack_reconfig_data_format(cb_C_local, cb_C_local_out);
        pack_reconfig_l1_acc(0);
        // kernel.py:27  C_local[i, j] = T.max(C_local[i, j] + bias_shared[j], 0)
        for (uint32_t part = 0; part < 4; ++part) {
            cb_reserve_back(cb_C_local_out, C_local_out_tiles);
            // kernel.py:25  T.gemm(A_shared, B_shared, C_local)
            // kernel.py:27  C_local[i, j] = T.max(C_local[i, j] + bias_shared[j], 0)
            for (uint32_t i = 0; i < C_local_out_rows; ++i) {
                for (uint32_t j = 0; j < C_local_out_cols; j += C_local_out_sub_cols) {
                    reconfig_data_format_srca(cb_C_local);
                    reconfig_data_format_srcb(cb_A_shared);
                    copy_tile_to_dst_init_short(cb_C_local);
                    end_block();
                    add_binary_tile_init();
                    tile_regs_acquire();
                    for (uint32_t sj = 0; sj < 2; ++sj) {
                        copy_tile(cb_C_local, part * 16 + i * C_local_cols + j + sj, sj);
                    }
                    reconfig_data_format_srca(cb_C_local, cb_B_shared);
                    matmul_block_init(cb_A_shared, cb_B_shared, /*transpose*/ 0, 2, 1, A_shared_cols);
                    for (uint32_t kk = 0; kk < B_shared_rows; ++kk) {
                        matmul_block(cb_A_shared, cb_B_shared, (part * 2 + i) * A_shared_cols + kk,
                            kk * B_shared_cols + j, 0, /*transpose*/ 0, 2, 1, A_shared_cols);
                    }
                    reconfig_data_format_srcb(cb_A_shared, cb_bias_shared);
                    add_bcast_rows_init(cb_zeros, cb_bias_shared);
                    for (uint32_t t = 0; t < C_local_out_sub_cols; ++t) {
                        add_tiles_bcast_rows(cb_zeros, cb_bias_shared, 0, j + t, C_local_out_sub_cols + t);
                    }
                    for (uint32_t t = 0; t < C_local_out_sub_cols; ++t) add_binary_tile(t, C_local_out_sub_cols + t, t);
                    end_block();
                    relu_tile_init();
                    for (uint32_t t = 0; t < C_local_out_sub_cols; ++t) relu_tile(t);
                    tile_regs_commit();
                    tile_regs_wait();
                    for (uint32_t t = 0; t < C_local_out_sub_cols; ++t) {
                        pack_tile<true>(t, cb_C_local_out, i * C_local_out_cols + j + t);
                    }
                    tile_regs_release();
                }
            }
            cb_push_back(cb_C_local_out, C_local_out_tiles);
        }
        cb_pop_front(cb_A_shared, A_shared_tiles);
        cb_pop_front(cb_B_shared, B_shared_tiles);
        cb_pop_front(cb_bias_shared, bias_shared_tiles);
        cb_pop_front(cb_C_local, C_local_tiles);
    }
    cb_pop_front(cb_zeros, 1);
}
