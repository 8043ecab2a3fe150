// A function of the vector unit on tiles that stay in L1, `chunk` of them per section; one pass to warm up, one timed.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_api.h"
#include "api/compute/eltwise_unary/eltwise_unary.h"
#include "api/compute/eltwise_unary/exp.h"
#include "api/compute/eltwise_unary/gelu.h"
#include "api/compute/eltwise_unary/recip.h"
#include "api/compute/eltwise_unary/rsqrt.h"
#include "api/compute/eltwise_unary/sqrt.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"
#include "api/compute/tile_move_copy.h"
#include "tools/profiler/kernel_profiler.hpp"

constexpr uint32_t in = 0, out = 16;
constexpr uint32_t tiles = get_compile_time_arg_val(0), chunk = get_compile_time_arg_val(1);

void one_pass() {
    for (uint32_t base = 0; base < tiles; base += chunk) {
        const uint32_t count = tiles - base < chunk ? tiles - base : chunk;
        tile_regs_acquire();
        for (uint32_t t = 0; t < count; ++t) copy_tile(in, base + t, t);
        for (uint32_t t = 0; t < count; ++t) FUNCTION(t);
        tile_regs_commit();
        tile_regs_wait();
        for (uint32_t t = 0; t < count; ++t) pack_tile<true>(t, out, base + t);
        tile_regs_release();
    }
}

void kernel_main() {
    init_sfpu(in, out);
    copy_tile_init(in);
    FUNCTION_INIT();
    cb_wait_front(in, tiles);
    cb_reserve_back(out, tiles);
    one_pass();
    {
        DeviceZoneScopedN("work");
        one_pass();
    }
    cb_pop_front(in, tiles);
    cb_push_back(out, tiles);
}
