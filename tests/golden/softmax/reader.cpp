// reader of 'softmax' for Wormhole: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_x_in = tt::CBIndex::c_0;  // 2 blocks of 1 x 8 tiles, Float16_b
constexpr uint32_t x_in_cols = 8, x_in_tiles = x_in_cols;
constexpr uint32_t cb_ones = tt::CBIndex::c_1;  // 1 x 1 tiles, Float16_b
constexpr uint32_t X_tile_cols = 8;  // tensor X, in tiles

// Stores a float32 number as element (i, j) of a tile: in bfloat16, or whole where the buffer's tiles are that large.
template <uint32_t tile_bytes>
inline void set_element(uint32_t l1, uint32_t i, uint32_t j, uint32_t bits) {
    const uint32_t element = (i / 16 * 2 + j / 16) * 256 + i % 16 * 16 + j % 16;
    if (tile_bytes == 4096) {
        reinterpret_cast<volatile tt_l1_ptr uint32_t*>(l1)[element] = bits;
    } else {
        reinterpret_cast<volatile tt_l1_ptr uint16_t*>(l1)[element] = bits >> 16;
    }
}

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

// A tile whose element (i, j) is base + row * i + col * j, a whole number of at most 256.
template <uint32_t tile_bytes>
inline void constant_tile(uint32_t l1, int32_t base, int32_t row, int32_t col) {
    for (uint32_t i = 0; i < 32; ++i) {
        for (uint32_t j = 0; j < 32; ++j) {
            set_element<tile_bytes>(l1, i, j, float_of(base + row * int32_t(i) + col * int32_t(j)));
        }
    }
}

void kernel_main() {
    const uint32_t X_addr = get_arg_val<uint32_t>(0);
    const uint32_t unit_start = get_arg_val<uint32_t>(1);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(2);  // units of work of this core

    constexpr auto X_args = TensorAccessorArgs<0>();
    const auto X = TensorAccessor(X_args, X_addr);
    constexpr uint32_t x_in_tile_bytes = get_tile_size(cb_x_in);
    constexpr uint32_t ones_tile_bytes = get_tile_size(cb_ones);

    cb_reserve_back(cb_ones, 1);
    const uint32_t ones_l1 = get_write_ptr(cb_ones);
    constant_tile<ones_tile_bytes>(ones_l1, 1, 0, 0);
    cb_push_back(cb_ones, 1);
    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit;
        cb_reserve_back(cb_x_in, x_in_tiles);
        // kernel.py:14  T.copy(X[bx * 64, 0], x)
        const uint32_t x_in_l1 = get_write_ptr(cb_x_in);
        for (uint32_t j = 0; j < x_in_cols; ++j) {
            noc_async_read_page(bx * X_tile_cols + j, X, x_in_l1 + j * x_in_tile_bytes);
        }
        noc_async_read_barrier();
        cb_push_back(cb_x_in, x_in_tiles);
    }
}
