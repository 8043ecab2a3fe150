// out = scale * acc + A B: the product of tiles first, then the matrix product adds to it in DST.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_api.h"
#include "api/compute/eltwise_binary.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/reg_api.h"
#include "tools/profiler/kernel_profiler.hpp"

constexpr uint32_t a = 0, b = 1, scale = 2, acc = 3, out = 16;
constexpr uint32_t rows = get_compile_time_arg_val(0), cols = get_compile_time_arg_val(1);
constexpr uint32_t depth = get_compile_time_arg_val(2);
constexpr uint32_t sub_rows = get_compile_time_arg_val(3), sub_cols = get_compile_time_arg_val(4);

void block(uint32_t row, uint32_t col) {
    tile_regs_acquire();
    mul_tiles_init(scale, acc);
    for (uint32_t i = 0; i < sub_rows; ++i)
        for (uint32_t j = 0; j < sub_cols; ++j) {
            const uint32_t tile = (row + i) * cols + col + j;
            mul_tiles(scale, acc, tile, tile, i * sub_cols + j);
        }
    matmul_block_init(a, b, false, sub_cols, sub_rows, depth);
    for (uint32_t k = 0; k < depth; ++k)
        matmul_block(a, b, row * depth + k, k * cols + col, 0, false, sub_cols, sub_rows, depth);
    tile_regs_commit();
    tile_regs_wait();
    for (uint32_t i = 0; i < sub_rows; ++i)
        for (uint32_t j = 0; j < sub_cols; ++j) pack_tile<true>(i * sub_cols + j, out, (row + i) * cols + col + j);
    tile_regs_release();
}

void kernel_main() {
    cb_wait_front(a, rows * depth);
    cb_wait_front(b, depth * cols);
    cb_wait_front(scale, rows * cols);
    cb_wait_front(acc, rows * cols);
    cb_reserve_back(out, rows * cols);
    compute_kernel_hw_startup<SrcOrder::Reverse>(scale, acc, out);
    reconfig_data_format_srca(scale);  // from here on both orders of operands are used
    {
        DeviceZoneScopedN("work");
        for (uint32_t row = 0; row < rows; row += sub_rows)
            for (uint32_t col = 0; col < cols; col += sub_cols) block(row, col);
    }
    cb_push_back(out, rows * cols);
    cb_pop_front(a, rows * depth);
    cb_pop_front(b, depth * cols);
    cb_pop_front(scale, rows * cols);
    cb_pop_front(acc, rows * cols);
}
