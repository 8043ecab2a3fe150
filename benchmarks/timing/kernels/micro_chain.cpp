// abs(neg(relu(sigmoid(c) + tanh(b)))), `chunk` results per section, each with two tiles of DST.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_api.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/eltwise_unary.h"
#include "api/compute/eltwise_unary/negative.h"
#include "api/compute/eltwise_unary/relu.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"
#include "api/compute/tile_move_copy.h"
#include "tools/profiler/kernel_profiler.hpp"

constexpr uint32_t b = 0, c = 1, out = 16;
constexpr uint32_t tiles = get_compile_time_arg_val(0), chunk = get_compile_time_arg_val(1);

void compute(uint32_t base, uint32_t count) {
    copy_tile_init(c);
    for (uint32_t t = 0; t < count; ++t) copy_tile(c, base + t, 2 * t);
    copy_tile_init(b);
    for (uint32_t t = 0; t < count; ++t) copy_tile(b, base + t, 2 * t + 1);
    sigmoid_tile_init();
    for (uint32_t t = 0; t < count; ++t) sigmoid_tile(2 * t);
    tanh_tile_init();
    for (uint32_t t = 0; t < count; ++t) tanh_tile(2 * t + 1);
    add_binary_tile_init();
    for (uint32_t t = 0; t < count; ++t) add_binary_tile(2 * t, 2 * t + 1, 2 * t);
    relu_tile_init();
    for (uint32_t t = 0; t < count; ++t) relu_tile(2 * t);
    negative_tile_init();
    for (uint32_t t = 0; t < count; ++t) negative_tile(2 * t);
    abs_tile_init();
    for (uint32_t t = 0; t < count; ++t) abs_tile(2 * t);
}

void kernel_main() {
    init_sfpu(b, out);
    cb_wait_front(b, tiles);
    cb_wait_front(c, tiles);
    cb_reserve_back(out, tiles);
    {
        DeviceZoneScopedN("work");
        for (uint32_t base = 0; base < tiles; base += chunk) {
            const uint32_t count = tiles - base < chunk ? tiles - base : chunk;
            tile_regs_acquire();
            compute(base, count);
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t t = 0; t < count; ++t) pack_tile<true>(2 * t, out, base + t);
            tile_regs_release();
        }
    }
    cb_pop_front(b, tiles);
    cb_pop_front(c, tiles);
    cb_push_back(out, tiles);
}
