// Multiplies blocks. Sums of all K blocks but the last are kept in L1 by the packer; the last K block starts from
// them and leaves in the format of the result.
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/tile_move_copy.h"

constexpr uint32_t block_m = get_compile_time_arg_val(0);
constexpr uint32_t block_n = get_compile_time_arg_val(1);
constexpr uint32_t block_k = get_compile_time_arg_val(2);
constexpr uint32_t transpose = get_compile_time_arg_val(3);
constexpr uint32_t sub_m = get_compile_time_arg_val(4);
constexpr uint32_t sub_n = get_compile_time_arg_val(5);
constexpr uint32_t cb_a = tt::CBIndex::c_0;
constexpr uint32_t cb_b = tt::CBIndex::c_1;
constexpr uint32_t cb_out = tt::CBIndex::c_16;
constexpr uint32_t cb_sum = tt::CBIndex::c_24;

ALWI void multiply(uint32_t r0, uint32_t c0) {
    for (uint32_t k = 0; k < block_k; ++k) {
        matmul_block(cb_a, cb_b, r0 * block_k + k, k * block_n + c0, 0, transpose, sub_n, sub_m, block_k);
    }
}

ALWI void store(uint32_t cb, uint32_t r0, uint32_t c0) {
    for (uint32_t i = 0; i < sub_m * sub_n; ++i) {
        pack_tile<true>(i, cb, (r0 + i / sub_n) * block_n + c0 + i % sub_n);
    }
}

void kernel_main() {
    const uint32_t count = get_arg_val<uint32_t>(0);
    const uint32_t k_blocks = get_arg_val<uint32_t>(1);
    const bool spill = k_blocks > 1;

    compute_kernel_hw_startup<SrcOrder::Reverse>(cb_a, cb_b, cb_out);
    matmul_block_init(cb_a, cb_b, transpose, sub_n, sub_m, block_k);
    for (uint32_t unit = 0; unit < count; ++unit) {
        if (spill) {
            cb_reserve_back(cb_sum, block_m * block_n);
            pack_reconfig_data_format(cb_out, cb_sum);
        }
        for (uint32_t kb = 0; kb + 1 < k_blocks; ++kb) {
            if (kb < 2) {
                pack_reconfig_l1_acc(kb);
            }
            cb_wait_front(cb_a, block_m * block_k);
            cb_wait_front(cb_b, block_k * block_n);
            for (uint32_t r = 0; r < block_m; r += sub_m) {
                for (uint32_t c = 0; c < block_n; c += sub_n) {
                    tile_regs_acquire();
                    multiply(r, c);
                    tile_regs_commit();
                    tile_regs_wait();
                    store(cb_sum, r, c);
                    tile_regs_release();
                }
            }
            cb_pop_front(cb_a, block_m * block_k);
            cb_pop_front(cb_b, block_k * block_n);
        }
        if (spill) {
            pack_reconfig_l1_acc(0);
            cb_push_back(cb_sum, block_m * block_n);
            pack_reconfig_data_format(cb_sum, cb_out);
            cb_wait_front(cb_sum, block_m * block_n);
        }
        cb_wait_front(cb_a, block_m * block_k);
        cb_wait_front(cb_b, block_k * block_n);
        cb_reserve_back(cb_out, block_m * block_n);
        for (uint32_t r = 0; r < block_m; r += sub_m) {
            for (uint32_t c = 0; c < block_n; c += sub_n) {
                tile_regs_acquire();
                if (spill) {
                    reconfig_data_format_srca(cb_b, cb_sum);
                    copy_tile_to_dst_init_short(cb_sum);
                    for (uint32_t i = 0; i < sub_m * sub_n; ++i) {
                        copy_tile(cb_sum, (r + i / sub_n) * block_n + c + i % sub_n, i);
                    }
                    reconfig_data_format_srca(cb_sum, cb_b);
                    matmul_block_init(cb_a, cb_b, transpose, sub_n, sub_m, block_k);
                }
                multiply(r, c);
                tile_regs_commit();
                tile_regs_wait();
                store(cb_out, r, c);
                tile_regs_release();
            }
        }
        cb_push_back(cb_out, block_m * block_n);
        cb_pop_front(cb_a, block_m * block_k);
        cb_pop_front(cb_b, block_k * block_n);
        if (spill) {
            cb_pop_front(cb_sum, block_m * block_n);
        }
    }
}
