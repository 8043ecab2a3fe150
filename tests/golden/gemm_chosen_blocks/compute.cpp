// compute of 'matmul' for Blackhole, units: rectangle: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/tile_move_copy.h"

constexpr uint32_t cb_A_shared = tt::CBIndex::c_0;  // 2 blocks of 4 x 4 tiles, Float16_b
constexpr uint32_t A_shared_rows = 4, A_shared_cols = 4, A_shared_tiles = A_shared_rows * A_shared_cols;
constexpr uint32_t cb_B_shared = tt::CBIndex::c_1;  // 2 blocks of 4 x 3 tiles, Float16_b
constexpr uint32_t B_shared_rows = 4, B_shared_cols = 3, B_shared_tiles = B_shared_rows * B_shared_cols;
constexpr uint32_t cb_C_local_out = tt::CBIndex::c_16;  // 2 blocks of 4 x 3 tiles, Float16_b
constexpr uint32_t C_local_out_tiles = 4 * 3;
constexpr uint32_t C_local_out_sub_tiles = 4;  // computed at a time
constexpr uint32_t cb_C_local = tt::CBIndex::c_24;  // 4 x 3 tiles, Float32
constexpr uint32_t C_local_rows = 4, C_local_cols = 3, C_local_tiles = C_local_rows * C_local_cols;

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup<SrcOrder::Reverse>(cb_A_shared, cb_B_shared, cb_C_local_out);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_reserve_back(cb_C_local, C_local_tiles);
        reconfig_data_format_srca(cb_B_shared);
        matmul_block_init(cb_A_shared, cb_B_shared, /*transpose*/ 0, 1, C_local_rows, A_shared_cols);
        pack_reconfig_data_format(cb_C_local_out, cb_C_local);
        // kernel.py:17  for k in T.Pipelined(8, num_stages=2):
        for (uint32_t k = 0; k < 4; ++k) {
            cb_wait_front(cb_A_shared, A_shared_tiles);
            cb_wait_front(cb_B_shared, B_shared_tiles);
            // kernel.py:20  T.gemm(A_shared, B_shared, C_local)
            pack_reconfig_l1_acc(k != 0);
            for (uint32_t j = 0; j < C_local_cols; ++j) {
                tile_regs_acquire();
                for (uint32_t kk = 0; kk < B_shared_rows; ++kk) {
                    matmul_block(cb_A_shared, cb_B_shared, kk, kk * B_shared_cols + j, 0, /*transpose*/ 0, 1,
                        C_local_rows, A_shared_cols);
                }
                tile_regs_commit();
                tile_regs_wait();
                for (uint32_t si = 0; si < C_local_rows; ++si) pack_tile<true>(si, cb_C_local, si * C_local_cols + j);
                tile_regs_release();
            }
            cb_pop_front(cb_A_shared, A_shared_tiles);
            cb_pop_front(cb_B_shared, B_shared_tiles);
        }
        cb_push_back(cb_C_local, C_local_tiles);
        cb_wait_front(cb_C_local, C_local_tiles);
        cb_reserve_back(cb_C_local_out, C_local_out_tiles);
        // kernel.py:21  T.copy(C_local, C[by * 128, bx * 128])
        reconfig_data_format_srca(cb_B_shared, cb_C_local);
        copy_tile_to_dst_init_short(cb_C_local);
        pack_reconfig_data_format(cb_C_local, cb_C_local_out);
        pack_reconfig_l1_acc(0);
        for (uint32_t tile = 0; tile < C_local_out_tiles; tile += C_local_out_sub_tiles) {
            tile_regs_acquire();
            for (uint32_t t = 0; t < C_local_out_sub_tiles; ++t) copy_tile(cb_C_local, tile + t, t);
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t t = 0; t < C_local_out_sub_tiles; ++t) pack_tile<true>(t, cb_C_local_out, tile + t);
            tile_regs_release();
        }
        cb_pop_front(cb_C_local, C_local_tiles);
        cb_push_back(cb_C_local_out, C_local_out_tiles);
    }
}
