// compute of 'hash_mask' for Wormhole: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/add_int_sfpu.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/binop_with_scalar.h"
#include "api/compute/eltwise_unary/bitwise.h"
#include "api/compute/eltwise_unary/comp.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/eltwise_unary/shift.h"
#include "api/compute/eltwise_unary/typecast.h"
#include "api/compute/eltwise_unary/where.h"
#include "api/compute/mul_int_sfpu.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/tile_move_copy.h"

constexpr uint32_t cb_seed = tt::CBIndex::c_0;  // 2 blocks of 2 x 1 tiles, UInt32
constexpr uint32_t seed_tiles = 2;
constexpr uint32_t cb_index = tt::CBIndex::c_1;  // 1 x 1 tiles, Float16_b
constexpr uint32_t cb_index_1 = tt::CBIndex::c_2;  // 1 x 1 tiles, Float16_b
constexpr uint32_t cb_x_in = tt::CBIndex::c_3;  // 2 blocks of 2 x 1 tiles, Float32
constexpr uint32_t x_in_tiles = 2;
constexpr uint32_t cb_x_out = tt::CBIndex::c_16;  // 2 blocks of 2 x 1 tiles, Float32
constexpr uint32_t x_out_tiles = 2;
constexpr uint32_t cb_word = tt::CBIndex::c_24;  // 2 x 1 tiles, UInt32
constexpr uint32_t word_rows = 2, word_tiles = word_rows;

// The bits of the float32 nearest to a whole number: the cores that run this have no floating point.
inline uint32_t float_of(int32_t number) {
    uint32_t rest = number < 0 ? 0 - uint32_t(number) : uint32_t(number);
    if (rest == 0) return 0;
    uint32_t exponent = 127 + 31;
    for (; rest < 0x80000000u; rest <<= 1) --exponent;
    const uint32_t kept = rest >> 8, lost = rest & 0xff;
    const uint32_t up = lost > 0x80 || (lost == 0x80 && (kept & 1)) ? 1 : 0;
    return (number < 0 ? 0x80000000u : 0) + (exponent << 23) + (kept & 0x7fffff) + up;
}

// Ends a basic block: the SDK's compiler may replay recorded instructions across calls inside one, which record others.
inline __attribute__((always_inline)) void end_block() {
    __asm__ goto("" : : : : next);
next:;
}

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup(cb_index, cb_word);
    cb_wait_front(cb_index, 1);
    cb_wait_front(cb_index_1, 1);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_wait_front(cb_seed, seed_tiles);
        cb_reserve_back(cb_word, word_tiles);
        // kernel.py:20  word[t] = (seed[t // COLS, t % COLS] + T.cast(t, "uint32")) * T.uint32(2654435761)
        pack_reconfig_data_format(cb_word);
        for (uint32_t i = 0; i < word_rows; ++i) {
            reconfig_data_format_srca(cb_index);
            copy_tile_to_dst_init_short(cb_index);
            end_block();
            binop_with_scalar_tile_init();
            tile_regs_acquire();
            copy_tile(cb_index, 0, 0);
            mul_unary_tile(0, 0x42000000u /* 32 */);
            copy_tile(cb_index_1, 0, 1);
            mul_unary_tile(1, 0x3f800000u /* 1 */);
            end_block();
            add_binary_tile_init();
            add_binary_tile(0, 1, 0);
            end_block();
            binop_with_scalar_tile_init();
            add_unary_tile(0, float_of(i * 1024));
            end_block();
            typecast_tile_init<(uint32_t)DataFormat::Float32, (uint32_t)DataFormat::Int32>();
            typecast_tile<(uint32_t)DataFormat::Float32, (uint32_t)DataFormat::Int32>(0);
            reconfig_data_format_srca(cb_index, cb_seed);
            copy_tile_to_dst_init_short(cb_seed);
            copy_tile(cb_seed, i, 1);
            end_block();
            add_int_tile_init();
            add_int_tile<DataFormat::Int32>(1, 0, 1);
            end_block();
            fill_tile_init();
            fill_tile_bitcast(0, 0xc6c39200u /* -25033 */);
            end_block();
            typecast_tile_init<(uint32_t)DataFormat::Float32, (uint32_t)DataFormat::Int32>();
            typecast_tile<(uint32_t)DataFormat::Float32, (uint32_t)DataFormat::Int32>(0);
            end_block();
            left_shift_tile_init();
            left_shift_tile<DataFormat::Int32>(0, 0x10u);
            end_block();
            bitwise_or_tile_init();
            bitwise_or_tile<DataFormat::Int32>(0, 0x79b1u);
            end_block();
            mul_int_tile_init<DataFormat::Int32>();
            mul_int_tile<DataFormat::Int32>(1, 0, 1);
            tile_regs_commit();
            tile_regs_wait();
            pack_tile<true>(1, cb_word, i);
            tile_regs_release();
        }
        cb_pop_front(cb_seed, seed_tiles);
        cb_push_back(cb_word, word_tiles);
        cb_wait_front(cb_word, word_tiles);
        cb_wait_front(cb_x_in, x_in_tiles);
        cb_reserve_back(cb_x_out, x_out_tiles);
        // kernel.py:23  elements[t] = T.if_then_else(word[t] >> 31 == 0, elements[t], 0.0)
        pack_reconfig_data_format(cb_word, cb_x_out);
        for (uint32_t tile = 0; tile < x_out_tiles; ++tile) {
            reconfig_data_format_srca(cb_word);
            copy_tile_to_dst_init_short(cb_word);
            end_block();
            right_shift_tile_init();
            tile_regs_acquire();
            copy_tile(cb_word, tile, 0);
            right_shift_tile<DataFormat::Int32>(0, 0x1fu);
            end_block();
            bitwise_and_tile_init();
            bitwise_and_tile<DataFormat::Int32>(0, 0x1u);
            end_block();
            typecast_tile_init<(uint32_t)DataFormat::Int32, (uint32_t)DataFormat::Float32>();
            typecast_tile<(uint32_t)DataFormat::Int32, (uint32_t)DataFormat::Float32>(0);
            end_block();
            eqz_tile_init();
            eqz_tile(0);
            reconfig_data_format_srca(cb_word, cb_x_in);
            copy_tile_to_dst_init_short(cb_x_in);
            copy_tile(cb_x_in, tile, 1);
            end_block();
            fill_tile_init();
            fill_tile_bitcast(2, 0x00000000u /* 0 */);
            end_block();
            where_tile_init();
            where_tile<DataFormat::Float32>(0, 1, 2, 0);
            tile_regs_commit();
            tile_regs_wait();
            pack_tile<true>(0, cb_x_out, tile);
            tile_regs_release();
        }
        cb_pop_front(cb_x_in, x_in_tiles);
        cb_pop_front(cb_word, word_tiles);
        cb_push_back(cb_x_out, x_out_tiles);
    }
    cb_pop_front(cb_index, 1);
    cb_pop_front(cb_index_1, 1);
}
