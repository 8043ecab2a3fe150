// Tiles through DST and back to L1, `chunk` of them per section. The buffer goes round in the timed part (kCycle), or
// its pages are granted before it (kHoisted), or the copies go to another buffer (kOther).
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_api.h"
#include "api/compute/eltwise_unary/eltwise_unary.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"
#include "api/compute/tile_move_copy.h"
#include "tools/profiler/kernel_profiler.hpp"

constexpr uint32_t in = 0, ring = 1, out = 16;
constexpr uint32_t kCycle = 0, kHoisted = 1, kOther = 2;
constexpr uint32_t tiles = get_compile_time_arg_val(0), rounds = get_compile_time_arg_val(1);
constexpr uint32_t chunk = get_compile_time_arg_val(2), kind = get_compile_time_arg_val(3);

void copies(uint32_t from, uint32_t to) {
    for (uint32_t base = 0; base < tiles; base += chunk) {
        const uint32_t count = tiles - base < chunk ? tiles - base : chunk;
        tile_regs_acquire();
        for (uint32_t t = 0; t < count; ++t) copy_tile(from, base + t, t);
        tile_regs_commit();
        tile_regs_wait();
        for (uint32_t t = 0; t < count; ++t) pack_tile<true>(t, to, base + t);
        tile_regs_release();
    }
}

void move(uint32_t from, uint32_t to) {
    cb_wait_front(from, tiles);
    cb_reserve_back(to, tiles);
    copies(from, to);
    cb_pop_front(from, tiles);
    cb_push_back(to, tiles);
}

void kernel_main() {
    constexpr uint32_t target = kind == kOther ? out : ring;
    init_sfpu(ring, target);
    copy_tile_init(in);
    move(in, ring);
    copy_tile_init(ring);
    if constexpr (kind == kCycle) {
        {
            DeviceZoneScopedN("work");
            for (uint32_t round = 0; round < rounds; ++round) move(ring, ring);
        }
        move(ring, out);
        return;
    }
    cb_wait_front(ring, tiles);
    cb_reserve_back(target, tiles);
    if constexpr (kind == kOther) copies(ring, target);
    {
        DeviceZoneScopedN("work");
        for (uint32_t round = 0; round < rounds; ++round) copies(ring, target);
    }
    cb_pop_front(ring, tiles);
    cb_push_back(target, tiles);
    if constexpr (kind == kHoisted) move(ring, out);
}
