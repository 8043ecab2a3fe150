// compute of 'gemm_parts' for Wormhole, units: match: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"

constexpr uint32_t cb_A_shared = tt::CBIndex::c_0;  // 2 blocks of 1 x 4 tiles, Float16_b
constexpr uint32_t A_shared_cols = 4, A_shared_tiles = A_shared_cols;
constexpr uint32_t cb_B_shared = tt::CBIndex::c_1;  // 2 blocks of 4 x 2 tiles, Float16_b
constexpr uint32_t B_shared_rows = 4, B_shared_cols = 2, B_shared_tiles = B_shared_rows * B_shared_cols;
constexpr uint32_t cb_C_local = tt::CBIndex::c_16;  // 1 x 2 tiles, Float32, in place: this core's shard of C_local_parts
constexpr uint32_t C_local_cols = 2, C_local_tiles = C_local_cols;

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup<SrcOrder::Reverse>(cb_A_shared, cb_B_shared, cb_C_local);
    matmul_block_init(cb_A_shared, cb_B_shared, /*transpose*/ 0, C_local_cols, 1, A_shared_cols);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_reserve_back(cb_C_local, C_local_tiles);
        // kernel.py:23  for k in T.Pipelined(K // BLOCK_K, num_stages=2):
        for (uint32_t k = 0; k < 8; ++k) {
            cb_wait_front(cb_A_shared, A_shared_tiles);
            cb_wait_front(cb_B_shared, B_shared_tiles);
            // kernel.py:26  T.gemm(A_shared, B_shared, C_local)
            pack_reconfig_l1_acc(k != 0);
            tile_regs_acquire();
            for (uint32_t kk = 0; kk < B_shared_rows; ++kk) {
                matmul_block(cb_A_shared, cb_B_shared, kk, kk * B_shared_cols, 0, /*transpose*/ 0, C_local_cols, 1,
                    A_shared_cols);
            }
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t t = 0; t < C_local_tiles; ++t) pack_tile<true>(t, cb_C_local, t);
            tile_regs_release();
            cb_pop_front(cb_A_shared, A_shared_tiles);
            cb_pop_front(cb_B_shared, B_shared_tiles);
        }
        cb_push_back(cb_C_local, C_local_tiles);
    }
    pack_reconfig_l1_acc(0);
}
