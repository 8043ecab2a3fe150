// compute of 'matmul' for Wormhole, units: rectangle, order z: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"

constexpr uint32_t cb_A_shared = tt::CBIndex::c_0;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t A_shared_rows = 2, A_shared_tiles = A_shared_rows;
constexpr uint32_t cb_B_shared = tt::CBIndex::c_1;  // 2 blocks of 1 x 2 tiles, Float16_b
constexpr uint32_t B_shared_cols = 2, B_shared_tiles = B_shared_cols;
constexpr uint32_t cb_C_local_out = tt::CBIndex::c_16;  // 2 blocks of 2 x 2 tiles, Float16_b
constexpr uint32_t C_local_out_tiles = 2 * 2;

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core
    const uint32_t k_tiles = get_arg_val<uint32_t>(1);  // (k + 31) // 32

    compute_kernel_hw_startup<SrcOrder::Reverse>(cb_A_shared, cb_B_shared, cb_C_local_out);
    matmul_block_init(cb_A_shared, cb_B_shared, /*transpose*/ 0, B_shared_cols, A_shared_rows, 1);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        tile_regs_acquire();
        // kernel.py:20  for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
        for (uint32_t k = 0; k < k_tiles; ++k) {
            cb_wait_front(cb_A_shared, A_shared_tiles);
            cb_wait_front(cb_B_shared, B_shared_tiles);
            // kernel.py:23  T.gemm(A_shared, B_shared, C_local)
            matmul_block(cb_A_shared, cb_B_shared, 0, 0, 0, /*transpose*/ 0, B_shared_cols, A_shared_rows, 1);
            cb_pop_front(cb_A_shared, A_shared_tiles);
            cb_pop_front(cb_B_shared, B_shared_tiles);
        }
        cb_reserve_back(cb_C_local_out, C_local_out_tiles);
        tile_regs_commit();
        tile_regs_wait();
        // kernel.py:24  T.copy(C_local, C[by * 64, bx * 64])
        for (uint32_t t = 0; t < C_local_out_tiles; ++t) pack_tile<true>(t, cb_C_local_out, t);
        tile_regs_release();
        cb_push_back(cb_C_local_out, C_local_out_tiles);
    }
}
