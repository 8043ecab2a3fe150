// compute of 'matmul' for Wormhole: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/transpose.h"

constexpr uint32_t cb_A_shared = tt::CBIndex::c_0;  // 2 blocks of 1 x 2 tiles, Float16_b
constexpr uint32_t A_shared_tiles = 2;
constexpr uint32_t cb_B_shared = tt::CBIndex::c_1;  // 2 blocks of 4 x 1 tiles, Float16_b
constexpr uint32_t B_shared_tiles = 4;
constexpr uint32_t cb_C_local = tt::CBIndex::c_16;  // 2 blocks of 2 x 4 tiles, Float32
constexpr uint32_t C_local_rows = 2, C_local_cols = 4, C_local_tiles = C_local_rows * C_local_cols;
constexpr uint32_t C_local_sub_cols = 2;  // computed at a time
constexpr uint32_t cb_A_shared_t = tt::CBIndex::c_24;  // 2 x 1 tiles, Float16_b
constexpr uint32_t A_shared_t_rows = 2, A_shared_t_tiles = A_shared_t_rows;

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup(cb_A_shared, cb_A_shared_t);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_reserve_back(cb_C_local, C_local_tiles);
        // kernel.py:17  for k in T.Pipelined(T.ceildiv(100, 32), num_stages=2):
        for (uint32_t k = 0; k < 4; ++k) {
            cb_wait_front(cb_A_shared, A_shared_tiles);
            cb_reserve_back(cb_A_shared_t, A_shared_t_tiles);
            // kernel.py:20  T.gemm(A_shared, B_shared, C_local, transpose_A=True, transpose_B=True)
            transpose_init(cb_A_shared);
            pack_reconfig_data_format(cb_A_shared_t);
            pack_reconfig_l1_acc(0);
            tile_regs_acquire();
            for (uint32_t t = 0; t < A_shared_t_rows; ++t) transpose_tile(cb_A_shared, t, t);
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t t = 0; t < A_shared_t_rows; ++t) pack_tile<true>(t, cb_A_shared_t, t);
            tile_regs_release();
            cb_pop_front(cb_A_shared, A_shared_tiles);
            cb_push_back(cb_A_shared_t, A_shared_t_tiles);
            cb_wait_front(cb_A_shared_t, A_shared_t_tiles);
            cb_wait_front(cb_B_shared, B_shared_tiles);
            matmul_block_init(cb_A_shared_t, cb_B_shared, /*transpose*/ 1, C_local_sub_cols, C_local_rows, 1);
            pack_reconfig_data_format(cb_A_shared_t, cb_C_local);
            pack_reconfig_l1_acc(k != 0);
            for (uint32_t j = 0; j < C_local_cols; j += C_local_sub_cols) {
                tile_regs_acquire();
                matmul_block(cb_A_shared_t, cb_B_shared, 0, j, 0, /*transpose*/ 1, C_local_sub_cols, C_local_rows, 1);
                tile_regs_commit();
                tile_regs_wait();
                for (uint32_t si = 0; si < C_local_rows; ++si) {
                    for (uint32_t sj = 0; sj < C_local_sub_cols; ++sj) {
                        pack_tile<true>(si * C_local_sub_cols + sj, cb_C_local, si * C_local_cols + j + sj);
                    }
                }
                tile_regs_release();
            }
            cb_pop_front(cb_B_shared, B_shared_tiles);
            cb_pop_front(cb_A_shared_t, A_shared_t_tiles);
        }
        cb_push_back(cb_C_local, C_local_tiles);
    }
    pack_reconfig_l1_acc(0);
}
