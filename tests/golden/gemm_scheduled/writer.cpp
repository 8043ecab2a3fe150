// writer of 'matmul' for Wormhole, units: rectangle, order z: moves finished tiles from L1 to DRAM.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_C_local_out = tt::CBIndex::c_16;  // 2 blocks of 2 x 2 tiles, Float16_b
constexpr uint32_t C_local_out_rows = 2, C_local_out_cols = 2, C_local_out_tiles = C_local_out_rows * C_local_out_cols;

// The number, row by row, of the block that comes at `unit` when columns x rows blocks are sorted by their Morton code
// (the bits of column and row in turn). Squares are cut into quarters; what lies outside is not counted.
inline uint32_t z_order(uint32_t unit, uint32_t columns, uint32_t rows) {
    uint32_t column = 0, row = 0, side = 1;
    while (side < columns || side < rows) side *= 2;
    while (side > 1) {
        side /= 2;
        const uint32_t wide = columns - column < 2 * side ? columns - column : 2 * side;
        const uint32_t left = wide < side ? wide : side;
        uint32_t high = rows - row < side ? rows - row : side;
        if (unit >= wide * high) {  // beyond the upper two quarters
            unit -= wide * high;
            row += side;
            high = rows - row < side ? rows - row : side;
        }
        if (unit >= left * high) {  // beyond the left one
            unit -= left * high;
            column += side;
        }
    }
    return row * columns + column;
}

void kernel_main() {
    const uint32_t C_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_count = get_arg_val<uint32_t>(1);  // units of work of this core
    const uint32_t first_column = get_arg_val<uint32_t>(2);  // first column of this core's blocks
    const uint32_t columns = get_arg_val<uint32_t>(3);  // columns of blocks of this core
    const uint32_t first_row = get_arg_val<uint32_t>(4);  // first row of this core's blocks
    const uint32_t rows = get_arg_val<uint32_t>(5);  // rows of blocks of this core
    const uint32_t m_tiles = get_arg_val<uint32_t>(6);  // (m + 31) // 32
    const uint32_t n_tiles = get_arg_val<uint32_t>(7);  // (n + 31) // 32

    constexpr auto C_args = TensorAccessorArgs<0>();
    const auto C = TensorAccessor(C_args, C_addr);
    constexpr uint32_t C_local_out_tile_bytes = get_tile_size(cb_C_local_out);

    for (uint32_t unit = 0; unit < unit_count; ++unit) {
        const uint32_t block = z_order(unit, columns, rows);
        const uint32_t bx = first_column + block % columns;
        const uint32_t by = first_row + block / columns;
        cb_wait_front(cb_C_local_out, C_local_out_tiles);
        // kernel.py:24  T.copy(C_local, C[by * 64, bx * 64])
        const uint32_t C_local_out_l1 = get_read_ptr(cb_C_local_out);
        for (uint32_t i = 0; i < C_local_out_rows; ++i) {
            for (uint32_t j = 0; j < C_local_out_cols; ++j) {
                if (by * C_local_out_rows + i < m_tiles && bx * C_local_out_cols + j < n_tiles) {
                    noc_async_write_page((by * C_local_out_rows + i) * n_tiles + bx * C_local_out_cols + j, C,
                        C_local_out_l1 + (i * C_local_out_cols + j) * C_local_out_tile_bytes);
                }
            }
        }
        noc_async_writes_flushed();
        cb_pop_front(cb_C_local_out, C_local_out_tiles);
    }
    noc_async_write_barrier();
}
