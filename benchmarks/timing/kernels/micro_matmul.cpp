// C = sum over k of A[k] B[k], in sub-blocks: each stays in DST over all k, or is packed every k and added up in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_api.h"
#include "api/compute/eltwise_unary/gelu.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"
#include "api/compute/tile_move_copy.h"
#include "tools/profiler/kernel_profiler.hpp"

constexpr uint32_t a = 0, b = 1, sum = 2, out = 16;
constexpr uint32_t rows = get_compile_time_arg_val(0), cols = get_compile_time_arg_val(1);
constexpr uint32_t depth = get_compile_time_arg_val(2);
constexpr uint32_t sub_rows = get_compile_time_arg_val(3), sub_cols = get_compile_time_arg_val(4);
constexpr bool gelu = get_compile_time_arg_val(5) != 0;
constexpr bool in_dst = get_compile_time_arg_val(6) != 0;

void pack_block(uint32_t target, uint32_t row, uint32_t col) {
    tile_regs_commit();
    tile_regs_wait();
    for (uint32_t i = 0; i < sub_rows; ++i)
        for (uint32_t j = 0; j < sub_cols; ++j)
            pack_tile<true>(i * sub_cols + j, target, (row + i) * cols + col + j);
    tile_regs_release();
}

void activate() {
    for (uint32_t t = 0; t < sub_rows * sub_cols; ++t) gelu_tile(t);
}

void sum_in_dst() {
    compute_kernel_hw_startup<SrcOrder::Reverse>(a, b, out);
    matmul_block_init(a, b, 0, sub_cols, sub_rows, 1);
    cb_reserve_back(out, rows * cols);
    {
        DeviceZoneScopedN("work");
        cb_wait_front(a, depth * rows);
        cb_wait_front(b, depth * cols);
        for (uint32_t row = 0; row < rows; row += sub_rows)
            for (uint32_t col = 0; col < cols; col += sub_cols) {
                tile_regs_acquire();
                for (uint32_t k = 0; k < depth; ++k)
                    matmul_block(a, b, k * rows + row, k * cols + col, 0, 0, sub_cols, sub_rows, 1);
                if constexpr (gelu) {
                    gelu_tile_init();
                    activate();
                }
                pack_block(out, row, col);
            }
        cb_pop_front(a, depth * rows);
        cb_pop_front(b, depth * cols);
    }
    cb_push_back(out, rows * cols);
}

void add_up(uint32_t target) {
    for (uint32_t k = 0; k < depth; ++k) {
        cb_wait_front(a, rows);
        cb_wait_front(b, cols);
        for (uint32_t row = 0; row < rows; row += sub_rows)
            for (uint32_t col = 0; col < cols; col += sub_cols) {
                tile_regs_acquire();
                matmul_block(a, b, row, col, 0, 0, sub_cols, sub_rows, 1);
                pack_block(target, row, col);
            }
        cb_pop_front(a, rows);
        cb_pop_front(b, cols);
        if (k == 0) pack_reconfig_l1_acc(1);
    }
}

void reload_and_activate() {
    pack_reconfig_l1_acc(0);
    cb_push_back(sum, rows * cols);
    cb_wait_front(sum, rows * cols);
    copy_tile_to_dst_init_short(sum);
    gelu_tile_init();
    for (uint32_t row = 0; row < rows; row += sub_rows)
        for (uint32_t col = 0; col < cols; col += sub_cols) {
            tile_regs_acquire();
            for (uint32_t i = 0; i < sub_rows; ++i)
                for (uint32_t j = 0; j < sub_cols; ++j)
                    copy_tile(sum, (row + i) * cols + col + j, i * sub_cols + j);
            activate();
            pack_block(out, row, col);
        }
    cb_pop_front(sum, rows * cols);
}

void sum_in_l1() {
    constexpr uint32_t target = gelu ? sum : out;
    compute_kernel_hw_startup<SrcOrder::Reverse>(a, b, target);
    matmul_block_init(a, b, 0, sub_cols, sub_rows, 1);
    cb_reserve_back(out, rows * cols);
    if constexpr (gelu) cb_reserve_back(sum, rows * cols);
    pack_reconfig_l1_acc(0);
    {
        DeviceZoneScopedN("work");
        add_up(target);
        if constexpr (gelu) reload_and_activate();
    }
    pack_reconfig_l1_acc(0);
    cb_push_back(out, rows * cols);
}

void kernel_main() {
    if constexpr (in_dst) sum_in_dst();
    else sum_in_l1();
}
