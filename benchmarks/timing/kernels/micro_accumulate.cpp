// out = seed + the sum of `rounds` blocks: the sum stays in DST and is packed once, or the packer adds in L1 each round.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_api.h"
#include "api/compute/eltwise_binary.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/eltwise_unary.h"
#include "api/compute/eltwise_unary/gelu.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"
#include "api/compute/tile_move_copy.h"
#include "tools/profiler/kernel_profiler.hpp"

constexpr uint32_t seed = 0, part = 1, out = 16;
constexpr uint32_t kAdd = 0, kMul = 1, kGelu = 2;
constexpr uint32_t tiles = get_compile_time_arg_val(0), rounds = get_compile_time_arg_val(1);
constexpr uint32_t capacity = get_compile_time_arg_val(2);
constexpr bool resident = get_compile_time_arg_val(3) != 0;
constexpr uint32_t kind = get_compile_time_arg_val(4);
constexpr bool in_dst = get_compile_time_arg_val(5) != 0;
constexpr auto ADD = EltwiseBinaryType::ELWADD;
constexpr auto REUSE = EltwiseBinaryReuseDestType::DEST_TO_SRCA;

void sum_in_dst() {
    if constexpr (kind == kGelu) init_sfpu(part, out);
    else binary_op_init_common(part, part, out);
    copy_tile_init(seed);
    tile_regs_acquire();
    cb_reserve_back(out, tiles);
    {
        DeviceZoneScopedN("work");
        cb_wait_front(seed, tiles);
        for (uint32_t t = 0; t < tiles; ++t) copy_tile(seed, t, t);
        cb_pop_front(seed, tiles);
        if constexpr (kind == kAdd) binary_dest_reuse_tiles_init<ADD, REUSE>(part);
        for (uint32_t round = 0; round < rounds; ++round) {
            cb_wait_front(part, tiles);
            if constexpr (kind == kAdd) {
                for (uint32_t t = 0; t < tiles; ++t) binary_dest_reuse_tiles<ADD, REUSE>(part, t, t);
            } else {
                copy_tile_init(part);
                for (uint32_t t = 0; t < tiles; ++t) copy_tile(part, t, tiles + t);
                gelu_tile_init();
                for (uint32_t t = 0; t < tiles; ++t) gelu_tile(tiles + t);
                add_binary_tile_init();
                for (uint32_t t = 0; t < tiles; ++t) add_binary_tile(t, tiles + t, t);
            }
            if (!resident) cb_pop_front(part, tiles);
        }
        if (resident) cb_pop_front(part, tiles);
        tile_regs_commit();
        tile_regs_wait();
        for (uint32_t t = 0; t < tiles; ++t) pack_tile<true>(t, out, t);
    }
    cb_push_back(out, tiles);
    tile_regs_release();
}

void move(uint32_t from, uint32_t how) {
    for (uint32_t base = 0; base < tiles; base += capacity) {
        const uint32_t count = tiles - base < capacity ? tiles - base : capacity;
        tile_regs_acquire();
        for (uint32_t t = 0; t < count; ++t) {
            if (how == kMul) mul_tiles(from, from, base + t, base + t, t);
            else copy_tile(from, base + t, t);
        }
        if (how == kGelu)
            for (uint32_t t = 0; t < count; ++t) gelu_tile(t);
        tile_regs_commit();
        tile_regs_wait();
        for (uint32_t t = 0; t < count; ++t) pack_tile<true>(t, out, base + t);
        tile_regs_release();
    }
}

void sum_in_l1() {
    init_sfpu(seed, out);
    copy_tile_init(seed);
    cb_reserve_back(out, tiles);
    pack_reconfig_l1_acc(0);
    {
        DeviceZoneScopedN("work");
        cb_wait_front(seed, tiles);
        move(seed, kAdd);
        cb_pop_front(seed, tiles);
        if constexpr (kind == kAdd) {
            copy_tile_init(part);
        } else if constexpr (kind == kMul) {
            binary_op_init_common(part, part, out);
            mul_tiles_init(part, part);
        } else {
            init_sfpu(part, out);
            copy_tile_init(part);
            gelu_tile_init();
        }
        pack_reconfig_l1_acc(1);
        for (uint32_t round = 0; round < rounds; ++round) {
            cb_wait_front(part, tiles);
            move(part, kind);
            if (!resident) cb_pop_front(part, tiles);
        }
        if (resident) cb_pop_front(part, tiles);
    }
    pack_reconfig_l1_acc(0);
    cb_push_back(out, tiles);
}

void kernel_main() {
    if constexpr (in_dst) sum_in_dst();
    else sum_in_l1();
}
