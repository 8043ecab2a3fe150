// One operation of the matrix engine on every tile of a block, sub-block by sub-block: transpose, add or multiply.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_api.h"
#include "api/compute/eltwise_binary.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"
#include "api/compute/transpose_wh.h"
#include "tools/profiler/kernel_profiler.hpp"

constexpr uint32_t in = 0, out = 16;
constexpr uint32_t side = get_compile_time_arg_val(0), rounds = get_compile_time_arg_val(1);
constexpr uint32_t sub_rows = get_compile_time_arg_val(2), sub_cols = get_compile_time_arg_val(3);
constexpr uint32_t kind = get_compile_time_arg_val(4);
constexpr uint32_t kTranspose = 0, kAdd = 1;

void one_pass() {
    for (uint32_t row = 0; row < side; row += sub_rows)
        for (uint32_t col = 0; col < side; col += sub_cols) {
            tile_regs_acquire();
            for (uint32_t i = 0; i < sub_rows; ++i)
                for (uint32_t j = 0; j < sub_cols; ++j) {
                    const uint32_t tile = (row + i) * side + col + j, dst = i * sub_cols + j;
                    if constexpr (kind == kTranspose) transpose_wh_tile(in, tile, dst);
                    else if constexpr (kind == kAdd) add_tiles(in, in, tile, tile, dst);
                    else mul_tiles(in, in, tile, tile, dst);
                }
            tile_regs_commit();
            tile_regs_wait();
            for (uint32_t i = 0; i < sub_rows; ++i)
                for (uint32_t j = 0; j < sub_cols; ++j) {
                    const uint32_t place =
                        kind == kTranspose ? (col + j) * side + row + i : (row + i) * side + col + j;
                    pack_tile<true>(i * sub_cols + j, out, place);
                }
            tile_regs_release();
        }
}

void kernel_main() {
    cb_wait_front(in, side * side);
    cb_reserve_back(out, side * side);
    if constexpr (kind == kTranspose) {
        transpose_wh_init(in, out);
    } else {
        binary_op_init_common(in, in, out);
        if constexpr (kind == kAdd) add_tiles_init(in, in);
        else mul_tiles_init(in, in);
    }
    {
        DeviceZoneScopedN("work");
        for (uint32_t round = 0; round < rounds; ++round) one_pass();
    }
    cb_push_back(out, side * side);
    cb_pop_front(in, side * side);
}
