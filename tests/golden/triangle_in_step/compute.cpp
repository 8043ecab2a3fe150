// compute of 'triangle' for Blackhole, units: list: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"

constexpr uint32_t cb_a = tt::CBIndex::c_0;  // 2 blocks of 1 x 1 tiles, Float16_b
constexpr uint32_t cb_b = tt::CBIndex::c_1;  // 2 blocks of 1 x 2 tiles, Float16_b
constexpr uint32_t b_tiles = 2;
constexpr uint32_t cb_c = tt::CBIndex::c_16;  // 2 blocks of 1 x 2 tiles, Float32
constexpr uint32_t c_cols = 2, c_tiles = c_cols;

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core
    constexpr uint32_t unit_list = 1;  // from this argument on: the blocks of this core, numbered row by row

    compute_kernel_hw_startup<SrcOrder::Reverse>(cb_a, cb_b, cb_c);
    matmul_block_init(cb_a, cb_b, /*transpose*/ 0, c_cols, 1, 1);
    fill_tile_init();
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        const uint32_t block = get_arg_val<uint32_t>(unit_list + unit);
        const uint32_t bx_member = block % 4;
        const uint32_t bx_group = block % 8 / 4;
        cb_reserve_back(cb_c, c_tiles);
        // kernel.py:16  T.clear(c)
        pack_reconfig_l1_acc(0);
        tile_regs_acquire();
        fill_tile_bitcast(0, 0x00000000u /* 0 */);
        tile_regs_commit();
        tile_regs_wait();
        for (uint32_t tile = 0; tile < c_tiles; ++tile) pack_tile<true>(0, cb_c, tile);
        tile_regs_release();
        pack_reconfig_l1_acc(1);
        // kernel.py:17  for k in T.Pipelined(bx + 1, num_stages=2):
        for (uint32_t k = 0; k < bx_group * 4 + 4; ++k) {
            if (k <= bx_group * 4 + bx_member) {
                cb_wait_front(cb_a, 1);
                cb_wait_front(cb_b, b_tiles);
                // kernel.py:20  T.gemm(a, b, c)
                tile_regs_acquire();
                matmul_block(cb_a, cb_b, 0, 0, 0, /*transpose*/ 0, c_cols, 1, 1);
                tile_regs_commit();
                tile_regs_wait();
                for (uint32_t t = 0; t < c_tiles; ++t) pack_tile<true>(t, cb_c, t);
                tile_regs_release();
                cb_pop_front(cb_a, 1);
            } else {
                cb_wait_front(cb_b, b_tiles);
            }
            cb_pop_front(cb_b, b_tiles);
        }
        cb_push_back(cb_c, c_tiles);
    }
    pack_reconfig_l1_acc(0);
}
