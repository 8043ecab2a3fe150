// compute of 'add_vectors' for Wormhole: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary.h"
#include "api/compute/pack.h"

constexpr uint32_t cb_b = tt::CBIndex::c_0;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t b_tiles = 2;
constexpr uint32_t cb_a_in = tt::CBIndex::c_1;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t a_in_tiles = 2;
constexpr uint32_t cb_a_out = tt::CBIndex::c_16;  // 2 blocks of 2 x 1 tiles, Float16_b
constexpr uint32_t a_out_tiles = 2;

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup(cb_a_in, cb_b, cb_a_out);
    add_init(cb_a_in, cb_b);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_wait_front(cb_a_in, a_in_tiles);
        cb_wait_front(cb_b, b_tiles);
        cb_reserve_back(cb_a_out, a_out_tiles);
        // kernel.py:17  a[i] = a[i] + b[i]
        tile_regs_acquire();
        for (uint32_t t = 0; t < a_out_tiles; ++t) add_tiles(cb_a_in, cb_b, t, t, t);
        tile_regs_commit();
        tile_regs_wait();
        for (uint32_t t = 0; t < a_out_tiles; ++t) pack_tile<true>(t, cb_a_out, t);
        tile_regs_release();
        cb_pop_front(cb_b, b_tiles);
        cb_pop_front(cb_a_in, a_in_tiles);
        cb_push_back(cb_a_out, a_out_tiles);
    }
}
