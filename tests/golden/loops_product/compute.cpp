// compute of 'loops_product' for Wormhole: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_unary/relu.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"

constexpr uint32_t cb_A_operand = tt::CBIndex::c_0;  // 2 blocks of 1 x 3 tiles, Float16_b
constexpr uint32_t A_operand_cols = 3, A_operand_tiles = A_operand_cols;
constexpr uint32_t cb_B_operand = tt::CBIndex::c_1;  // 2 blocks of 3 x 2 tiles, Float16_b
constexpr uint32_t B_operand_rows = 3, B_operand_cols = 2, B_operand_tiles = B_operand_rows * B_operand_cols;
constexpr uint32_t cb_C_tile = tt::CBIndex::c_16;  // 2 blocks of 1 x 2 tiles, Float32
constexpr uint32_t C_tile_tiles = 2;

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup<SrcOrder::Reverse>(cb_A_operand, cb_B_operand, cb_C_tile);
    matmul_block_init(cb_A_operand, cb_B_operand, /*transpose*/ 0, B_operand_cols, 1, A_operand_cols);
    relu_tile_init();
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_wait_front(cb_A_operand, A_operand_tiles);
        cb_wait_front(cb_B_operand, B_operand_tiles);
        cb_reserve_back(cb_C_tile, C_tile_tiles);
        // kernel.py:17  s += A[by * 32 + i, k] * B[k, j]
        // kernel.py:18  C[by * 32 + i, j] = T.max(s, 0.0)
        tile_regs_acquire();
        for (uint32_t kk = 0; kk < B_operand_rows; ++kk) {
            matmul_block(cb_A_operand, cb_B_operand, kk, kk * B_operand_cols, 0, /*transpose*/ 0, B_operand_cols, 1,
                A_operand_cols);
        }
        for (uint32_t t = 0; t < C_tile_tiles; ++t) relu_tile(t);
        tile_regs_commit();
        tile_regs_wait();
        for (uint32_t t = 0; t < C_tile_tiles; ++t) pack_tile<true>(t, cb_C_tile, t);
        tile_regs_release();
        cb_pop_front(cb_A_operand, A_operand_tiles);
        cb_pop_front(cb_B_operand, B_operand_tiles);
        cb_push_back(cb_C_tile, C_tile_tiles);
    }
}
