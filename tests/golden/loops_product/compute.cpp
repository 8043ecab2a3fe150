// compute of 'loops_product' for Wormhole: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_unary/relu.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"

constexpr uint32_t cb_A_operand = tt::CBIndex::c_0;  // 2 blocks of 1 x 3 tiles, Float16_b
constexpr uint32_t cb_B_operand = tt::CBIndex::c_1;  // 2 blocks of 3 x 2 tiles, Float16_b
constexpr uint32_t cb_C_tile = tt::CBIndex::c_16;  // 2 blocks of 1 x 2 tiles, Float32

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup<SrcOrder::Reverse>(cb_A_operand, cb_B_operand, cb_C_tile);
    matmul_block_init(cb_A_operand, cb_B_operand, /*transpose*/ 0, 2, 1, 3);
    relu_tile_init();
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_wait_front(cb_A_operand, 3);
        cb_wait_front(cb_B_operand, 6);
        cb_reserve_back(cb_C_tile, 2);
        // kernel.py:17  s += A[by * 32 + i, k] * B[k, j]
        // kernel.py:18  C[by * 32 + i, j] = T.max(s, 0.0)
        tile_regs_acquire();
        for (uint32_t kk = 0; kk < 3; ++kk) {
            matmul_block(cb_A_operand, cb_B_operand, kk, kk * 2, 0, /*transpose*/ 0, 2, 1, 3);
        }
        for (uint32_t t = 0; t < 2; ++t) relu_tile(t);
        tile_regs_commit();
        tile_regs_wait();
        for (uint32_t t = 0; t < 2; ++t) pack_tile<true>(t, cb_C_tile, t);
        tile_regs_release();
        cb_pop_front(cb_A_operand, 3);
        cb_pop_front(cb_B_operand, 6);
        cb_push_back(cb_C_tile, 2);
    }
}
