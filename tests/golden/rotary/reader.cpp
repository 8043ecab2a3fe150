// reader of 'rotary' for Wormhole: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_c = tt::CBIndex::c_0;  // 2 blocks of 1 x 2 tiles, Float32
constexpr uint32_t c_cols = 2, c_tiles = c_cols;
constexpr uint32_t cb_x_matrix = tt::CBIndex::c_1;  // 2 blocks of 1 x 2 tiles, Float32
constexpr uint32_t x_matrix_cols = 2, x_matrix_tiles = x_matrix_cols;
constexpr uint32_t X_tile_cols = 2;  // tensor X, in tiles

void kernel_main() {
    const uint32_t X_addr = get_arg_val<uint32_t>(0);
    const uint32_t C_addr = get_arg_val<uint32_t>(1);
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core

    constexpr auto X_args = TensorAccessorArgs<0>();
    const auto X = TensorAccessor(X_args, X_addr);
    constexpr auto C_args = TensorAccessorArgs<X_args.next_compile_time_args_offset()>();
    const auto C = TensorAccessor(C_args, C_addr);
    constexpr uint32_t c_tile_bytes = get_tile_size(cb_c);
    constexpr uint32_t x_matrix_tile_bytes = get_tile_size(cb_x_matrix);

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        // kernel.py:18  T.copy(X, x)
        for (uint32_t x_0 = 0; x_0 < 3; ++x_0) {
            cb_reserve_back(cb_x_matrix, x_matrix_tiles);
            const uint32_t x_matrix_l1 = get_write_ptr(cb_x_matrix);
            for (uint32_t j = 0; j < x_matrix_cols; ++j) {
                noc_async_read_page(x_0 * X_tile_cols + j, X, x_matrix_l1 + j * x_matrix_tile_bytes);
            }
            noc_async_read_barrier();
            cb_push_back(cb_x_matrix, x_matrix_tiles);
        }
        cb_reserve_back(cb_c, c_tiles);
        // kernel.py:19  T.copy(C, c)
        const uint32_t c_l1 = get_write_ptr(cb_c);
        for (uint32_t j = 0; j < c_cols; ++j) noc_async_read_page(j, C, c_l1 + j * c_tile_bytes);
        noc_async_read_barrier();
        cb_push_back(cb_c, c_tiles);
    }
}
