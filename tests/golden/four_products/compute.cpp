// compute of 'four_products' for Wormhole: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"

constexpr uint32_t cb_a = tt::CBIndex::c_0;  // 8 x 8 tiles, Float32
constexpr uint32_t a_rows = 8, a_cols = 8, a_tiles = a_rows * a_cols;
constexpr uint32_t cb_b = tt::CBIndex::c_1;  // 8 x 8 tiles, Float32
constexpr uint32_t b_rows = 8, b_cols = 8, b_tiles = b_rows * b_cols;
constexpr uint32_t cb_fourth = tt::CBIndex::c_16;  // 8 x 8 tiles, Float32
constexpr uint32_t fourth_rows = 8, fourth_cols = 8, fourth_tiles = fourth_rows * fourth_cols;
constexpr uint32_t fourth_sub_rows = 2, fourth_sub_cols = 2;  // computed at a time
constexpr uint32_t cb_first = tt::CBIndex::c_24;  // 8 x 8 tiles, Float32
constexpr uint32_t first_rows = 8, first_cols = 8, first_tiles = first_rows * first_cols;
constexpr uint32_t first_sub_rows = 2, first_sub_cols = 2;  // computed at a time
constexpr uint32_t cb_second = tt::CBIndex::c_25;  // 8 x 8 tiles, Float32
constexpr uint32_t second_rows = 8, second_cols = 8, second_tiles = second_rows * second_cols;
constexpr uint32_t second_sub_rows = 2, second_sub_cols = 2;  // computed at a time

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup<SrcOrder::Reverse>(cb_a, cb_b, cb_first);
    matmul_block_init(cb_a, cb_b, /*transpose*/ 0, first_sub_cols, first_sub_rows, a_cols);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_wait_front(cb_a, a_tiles);
        cb_wait_front(cb_b, b_tiles);
        cb_reserve_back(cb_first, first_tiles);
        // kernel.py:22  T.gemm(a, b, first, clear_accum=True)
        for (uint32_t i = 0; i < first_rows; i += first_sub_rows) {
            for (uint32_t j = 0; j < first_cols; j += first_sub_cols) {
                tile_regs_acquire();
                for (uint32_t kk = 0; kk < b_rows; ++kk) {
                    matmul_block(cb_a, cb_b, i * a_cols + kk, kk * b_cols + j, 0, /*transpose*/ 0, first_sub_cols,
                        first_sub_rows, a_cols);
                }
                tile_regs_commit();
                tile_regs_wait();
                for (uint32_t si = 0; si < first_sub_rows; ++si) {
                    for (uint32_t sj = 0; sj < first_sub_cols; ++sj) {
                        pack_tile<true>(si * first_sub_cols + sj, cb_first, (i + si) * first_cols + j + sj);
                    }
                }
                tile_regs_release();
            }
        }
        cb_pop_front(cb_a, a_tiles);
        cb_push_back(cb_first, first_tiles);
        cb_wait_front(cb_first, first_tiles);
        cb_reserve_back(cb_second, second_tiles);
        // kernel.py:23  T.gemm(first, b, second, clear_accum=True)
        for (uint32_t i = 0; i < second_rows; i += second_sub_rows) {
            for (uint32_t j = 0; j < second_cols; j += second_sub_cols) {
                tile_regs_acquire();
                for (uint32_t kk = 0; kk < b_rows; ++kk) {
                    matmul_block(cb_first, cb_b, i * first_cols + kk, kk * b_cols + j, 0, /*transpose*/ 0,
                        second_sub_cols, second_sub_rows, first_cols);
                }
                tile_regs_commit();
                tile_regs_wait();
                for (uint32_t si = 0; si < second_sub_rows; ++si) {
                    for (uint32_t sj = 0; sj < second_sub_cols; ++sj) {
                        pack_tile<true>(si * second_sub_cols + sj, cb_second, (i + si) * second_cols + j + sj);
                    }
                }
                tile_regs_release();
            }
        }
        cb_pop_front(cb_first, first_tiles);
        cb_push_back(cb_second, second_tiles);
        cb_wait_front(cb_second, second_tiles);
        cb_reserve_back(cb_first, first_tiles);
        // kernel.py:24  T.gemm(second, b, third, clear_accum=True)
        for (uint32_t i = 0; i < first_rows; i += first_sub_rows) {
            for (uint32_t j = 0; j < first_cols; j += first_sub_cols) {
                tile_regs_acquire();
                for (uint32_t kk = 0; kk < b_rows; ++kk) {
                    matmul_block(cb_second, cb_b, i * second_cols + kk, kk * b_cols + j, 0, /*transpose*/ 0,
                        first_sub_cols, first_sub_rows, second_cols);
                }
                tile_regs_commit();
                tile_regs_wait();
                for (uint32_t si = 0; si < first_sub_rows; ++si) {
                    for (uint32_t sj = 0; sj < first_sub_cols; ++sj) {
                        pack_tile<true>(si * first_sub_cols + sj, cb_first, (i + si) * first_cols + j + sj);
                    }
                }
                tile_regs_release();
            }
        }
        cb_pop_front(cb_second, second_tiles);
        cb_push_back(cb_first, first_tiles);
        cb_wait_front(cb_first, first_tiles);
        cb_reserve_back(cb_fourth, fourth_tiles);
        // kernel.py:25  T.gemm(third, b, fourth, clear_accum=True)
        for (uint32_t i = 0; i < fourth_rows; i += fourth_sub_rows) {
            for (uint32_t j = 0; j < fourth_cols; j += fourth_sub_cols) {
                tile_regs_acquire();
                for (uint32_t kk = 0; kk < b_rows; ++kk) {
                    matmul_block(cb_first, cb_b, i * first_cols + kk, kk * b_cols + j, 0, /*transpose*/ 0,
                        fourth_sub_cols, fourth_sub_rows, first_cols);
                }
                tile_regs_commit();
                tile_regs_wait();
                for (uint32_t si = 0; si < fourth_sub_rows; ++si) {
                    for (uint32_t sj = 0; sj < fourth_sub_cols; ++sj) {
                        pack_tile<true>(si * fourth_sub_cols + sj, cb_fourth, (i + si) * fourth_cols + j + sj);
                    }
                }
                tile_regs_release();
            }
        }
        cb_pop_front(cb_b, b_tiles);
        cb_pop_front(cb_first, first_tiles);
        cb_push_back(cb_fourth, fourth_tiles);
    }
}
