// compute of 'four_products' for Wormhole: computes on tiles in L1.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"

constexpr uint32_t cb_a = tt::CBIndex::c_0;  // 8 x 8 tiles, Float32
constexpr uint32_t cb_b = tt::CBIndex::c_1;  // 8 x 8 tiles, Float32
constexpr uint32_t cb_fourth = tt::CBIndex::c_16;  // 8 x 8 tiles, Float32
constexpr uint32_t cb_first = tt::CBIndex::c_24;  // 8 x 8 tiles, Float32
constexpr uint32_t cb_second = tt::CBIndex::c_25;  // 8 x 8 tiles, Float32

void kernel_main() {
    const uint32_t unit_count = get_arg_val<uint32_t>(0);  // units of work of this core

    compute_kernel_hw_startup<SrcOrder::Reverse>(cb_a, cb_b, cb_first);
    matmul_block_init(cb_a, cb_b, /*transpose*/ 0, 2, 2, 8);
    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        cb_wait_front(cb_a, 64);
        cb_wait_front(cb_b, 64);
        cb_reserve_back(cb_first, 64);
        // kernel.py:22  T.gemm(a, b, first, clear_accum=True)
        for (uint32_t i = 0; i < 8; i += 2) {
            for (uint32_t j = 0; j < 8; j += 2) {
                tile_regs_acquire();
                for (uint32_t kk = 0; kk < 8; ++kk) {
                    matmul_block(cb_a, cb_b, i * 8 + kk, kk * 8 + j, 0, /*transpose*/ 0, 2, 2, 8);
                }
                tile_regs_commit();
                tile_regs_wait();
                for (uint32_t si = 0; si < 2; ++si) {
                    for (uint32_t sj = 0; sj < 2; ++sj) pack_tile<true>(si * 2 + sj, cb_first, (i + si) * 8 + j + sj);
                }
                tile_regs_release();
            }
        }
        cb_pop_front(cb_a, 64);
        cb_push_back(cb_first, 64);
        cb_wait_front(cb_first, 64);
        cb_reserve_back(cb_second, 64);
        // kernel.py:23  T.gemm(first, b, second, clear_accum=True)
        for (uint32_t i = 0; i < 8; i += 2) {
            for (uint32_t j = 0; j < 8; j += 2) {
                tile_regs_acquire();
                for (uint32_t kk = 0; kk < 8; ++kk) {
                    matmul_block(cb_first, cb_b, i * 8 + kk, kk * 8 + j, 0, /*transpose*/ 0, 2, 2, 8);
                }
                tile_regs_commit();
                tile_regs_wait();
                for (uint32_t si = 0; si < 2; ++si) {
                    for (uint32_t sj = 0; sj < 2; ++sj) pack_tile<true>(si * 2 + sj, cb_second, (i + si) * 8 + j + sj);
                }
                tile_regs_release();
            }
        }
        cb_pop_front(cb_first, 64);
        cb_push_back(cb_second, 64);
        cb_wait_front(cb_second, 64);
        cb_reserve_back(cb_first, 64);
        // kernel.py:24  T.gemm(second, b, third, clear_accum=True)
        for (uint32_t i = 0; i < 8; i += 2) {
            for (uint32_t j = 0; j < 8; j += 2) {
                tile_regs_acquire();
                for (uint32_t kk = 0; kk < 8; ++kk) {
                    matmul_block(cb_second, cb_b, i * 8 + kk, kk * 8 + j, 0, /*transpose*/ 0, 2, 2, 8);
                }
                tile_regs_commit();
                tile_regs_wait();
                for (uint32_t si = 0; si < 2; ++si) {
                    for (uint32_t sj = 0; sj < 2; ++sj) pack_tile<true>(si * 2 + sj, cb_first, (i + si) * 8 + j + sj);
                }
                tile_regs_release();
            }
        }
        cb_pop_front(cb_second, 64);
        cb_push_back(cb_first, 64);
        cb_wait_front(cb_first, 64);
        cb_reserve_back(cb_fourth, 64);
        // kernel.py:25  T.gemm(third, b, fourth, clear_accum=True)
        for (uint32_t i = 0; i < 8; i += 2) {
            for (uint32_t j = 0; j < 8; j += 2) {
                tile_regs_acquire();
                for (uint32_t kk = 0; kk < 8; ++kk) {
                    matmul_block(cb_first, cb_b, i * 8 + kk, kk * 8 + j, 0, /*transpose*/ 0, 2, 2, 8);
                }
                tile_regs_commit();
                tile_regs_wait();
                for (uint32_t si = 0; si < 2; ++si) {
                    for (uint32_t sj = 0; sj < 2; ++sj) pack_tile<true>(si * 2 + sj, cb_fourth, (i + si) * 8 + j + sj);
                }
                tile_regs_release();
            }
        }
        cb_pop_front(cb_b, 64);
        cb_pop_front(cb_first, 64);
        cb_push_back(cb_fourth, 64);
    }
}
