// reader of 'attention' for Wormhole: moves tiles from DRAM to L1.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_q = tt::CBIndex::c_0;  // 2 blocks of 2 x 2 tiles, Float16_b
constexpr uint32_t q_rows = 2, q_cols = 2, q_tiles = q_rows * q_cols;
constexpr uint32_t cb_k = tt::CBIndex::c_1;  // 2 x 2 tiles, Float16_b
constexpr uint32_t k_rows = 2, k_cols = 2, k_tiles = k_rows * k_cols;
constexpr uint32_t cb_v = tt::CBIndex::c_2;  // 2 x 2 tiles, Float16_b
constexpr uint32_t v_rows = 2, v_cols = 2, v_tiles = v_rows * v_cols;
constexpr uint32_t cb_mask = tt::CBIndex::c_3;  // 3 x 1 tiles, Float16_b
constexpr uint32_t mask_tiles = 3;
constexpr uint32_t cb_ones = tt::CBIndex::c_4;  // 1 x 1 tiles, Float16_b
constexpr uint32_t Q_tile_rows = 4, Q_tile_cols = 2;  // tensor Q, in tiles
constexpr uint32_t K_tile_rows = 4, K_tile_cols = 2;  // tensor K, in tiles
constexpr uint32_t V_tile_rows = 4, V_tile_cols = 2;  // tensor V, in tiles

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

// A tile whose element (i, j) is `yes` where offset + row * i + col * j >= 0, and `no` elsewhere.
template <uint32_t tile_bytes>
inline void mask_tile(uint32_t l1, int32_t offset, int32_t row, int32_t col, uint32_t yes, uint32_t no) {
    for (uint32_t i = 0; i < 32; ++i) {
        for (uint32_t j = 0; j < 32; ++j) {
            set_element<tile_bytes>(l1, i, j, offset + row * int32_t(i) + col * int32_t(j) >= 0 ? yes : no);
        }
    }
}

void kernel_main() {
    const uint32_t Q_addr = get_arg_val<uint32_t>(0);
    const uint32_t K_addr = get_arg_val<uint32_t>(1);
    const uint32_t V_addr = get_arg_val<uint32_t>(2);
    const uint32_t unit_start = get_arg_val<uint32_t>(3);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(4);  // units of work of this core

    constexpr auto Q_args = TensorAccessorArgs<0>();
    const auto Q = TensorAccessor(Q_args, Q_addr);
    constexpr auto K_args = TensorAccessorArgs<Q_args.next_compile_time_args_offset()>();
    const auto K = TensorAccessor(K_args, K_addr);
    constexpr auto V_args = TensorAccessorArgs<K_args.next_compile_time_args_offset()>();
    const auto V = TensorAccessor(V_args, V_addr);
    constexpr uint32_t q_tile_bytes = get_tile_size(cb_q);
    constexpr uint32_t k_tile_bytes = get_tile_size(cb_k);
    constexpr uint32_t v_tile_bytes = get_tile_size(cb_v);
    constexpr uint32_t mask_tile_bytes = get_tile_size(cb_mask);
    constexpr uint32_t ones_tile_bytes = get_tile_size(cb_ones);

    cb_reserve_back(cb_mask, mask_tiles);
    const uint32_t mask_l1 = get_write_ptr(cb_mask);
    mask_tile<mask_tile_bytes>(mask_l1, 0, 0, 0, 0xff800000u /* -inf */, 0xff800000u /* -inf */);
    mask_tile<mask_tile_bytes>(mask_l1 + 1 * mask_tile_bytes, 0, 1, -1, 0x00000000u /* 0 */, 0xff800000u /* -inf */);
    mask_tile<mask_tile_bytes>(mask_l1 + 2 * mask_tile_bytes, 0, 0, 0, 0x00000000u /* 0 */, 0x00000000u /* 0 */);
    cb_push_back(cb_mask, mask_tiles);
    cb_reserve_back(cb_ones, 1);
    const uint32_t ones_l1 = get_write_ptr(cb_ones);
    constant_tile<ones_tile_bytes>(ones_l1, 1, 0, 0);
    cb_push_back(cb_ones, 1);
    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit % 2;
        const uint32_t by = unit % 4 / 2;
        cb_reserve_back(cb_q, q_tiles);
        // kernel.py:31  T.copy(Q[bz, bx * BLOCK : (bx + 1) * BLOCK, by, :], q)
        const uint32_t q_l1 = get_write_ptr(cb_q);
        for (uint32_t i = 0; i < q_rows; ++i) {
            for (uint32_t j = 0; j < q_cols; ++j) {
                noc_async_read_page((by * Q_tile_rows + bx * q_rows + i) * Q_tile_cols + j, Q,
                    q_l1 + (i * q_cols + j) * q_tile_bytes);
            }
        }
        noc_async_read_barrier();
        cb_push_back(cb_q, q_tiles);
        // kernel.py:35  for n in T.Pipelined(bx + 1, num_stages=1):
        for (uint32_t n = 0; n < bx + 1; ++n) {
            cb_reserve_back(cb_k, k_tiles);
            // kernel.py:36  T.copy(K[bz, n * BLOCK : (n + 1) * BLOCK, by, :], k)
            const uint32_t k_l1 = get_write_ptr(cb_k);
            for (uint32_t i = 0; i < k_rows; ++i) {
                for (uint32_t j = 0; j < k_cols; ++j) {
                    noc_async_read_page((by * K_tile_rows + n * k_rows + i) * K_tile_cols + j, K,
                        k_l1 + (j * k_rows + i) * k_tile_bytes);
                }
            }
            noc_async_read_barrier();
            cb_push_back(cb_k, k_tiles);
            cb_reserve_back(cb_v, v_tiles);
            // kernel.py:55  T.copy(V[bz, n * BLOCK : (n + 1) * BLOCK, by, :], v)
            const uint32_t v_l1 = get_write_ptr(cb_v);
            for (uint32_t i = 0; i < v_rows; ++i) {
                for (uint32_t j = 0; j < v_cols; ++j) {
                    noc_async_read_page((by * V_tile_rows + n * v_rows + i) * V_tile_cols + j, V,
                        v_l1 + (i * v_cols + j) * v_tile_bytes);
                }
            }
            noc_async_read_barrier();
            cb_push_back(cb_v, v_tiles);
        }
    }
}
