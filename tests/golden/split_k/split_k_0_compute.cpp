// compute of 'split_k_0' for Wormhole: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/pack.h"

constexpr uint32_t cb_zeros = tt::CBIndex::c_16;  // 2 blocks of 2 x 2 tiles, Float32
constexpr uint32_t zeros_tiles = 2 * 2;

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup(cb_zeros, cb_zeros);
    fill_tile_init();
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_reserve_back(cb_zeros, zeros_tiles);
        // kernel.py:14  T.clear(zeros)
        tile_regs_acquire();
        fill_tile_bitcast(0, 0x00000000u /* 0 */);
        tile_regs_commit();
        tile_regs_wait();
        for (uint32_t tile = 0; tile < zeros_tiles; ++tile) pack_tile<true>(0, cb_zeros, tile);
        tile_regs_release();
        cb_push_back(cb_zeros, zeros_tiles);
    }
}
