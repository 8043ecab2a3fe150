// Reads the blocks of A and B that the units of this core need. Tiles outside a tensor become zeros.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t block_m = get_compile_time_arg_val(0);
constexpr uint32_t block_n = get_compile_time_arg_val(1);
constexpr uint32_t block_k = get_compile_time_arg_val(2);
constexpr bool b_is_transposed = get_compile_time_arg_val(3) != 0;
constexpr auto a_layout = TensorAccessorArgs<4>();
constexpr auto b_layout = TensorAccessorArgs<a_layout.next_compile_time_args_offset()>();
constexpr uint32_t cb_a = tt::CBIndex::c_0;
constexpr uint32_t cb_b = tt::CBIndex::c_1;

template <typename Accessor>
FORCE_INLINE void fetch(const Accessor& tensor, bool inside, uint32_t page, uint32_t to, uint32_t bytes) {
    if (inside) {
        noc_async_read_page(page, tensor, to);
        return;
    }
    for (uint32_t done = 0; done < bytes; done += MEM_ZEROS_SIZE) {
        const uint32_t rest = bytes - done;
        noc_async_read(get_noc_addr(MEM_ZEROS_BASE), to + done, rest < MEM_ZEROS_SIZE ? rest : MEM_ZEROS_SIZE);
    }
}

void kernel_main() {
    const TensorAccessor a(a_layout, get_arg_val<uint32_t>(0));
    const TensorAccessor b(b_layout, get_arg_val<uint32_t>(1));
    const uint32_t first = get_arg_val<uint32_t>(2);
    const uint32_t count = get_arg_val<uint32_t>(3);
    const uint32_t rows = get_arg_val<uint32_t>(4);   // tile rows of A
    const uint32_t inner = get_arg_val<uint32_t>(5);  // tile columns of A
    const uint32_t cols = get_arg_val<uint32_t>(6);   // tile columns of the result
    const uint32_t blocks_across = (cols + block_n - 1) / block_n;

    for (uint32_t unit = first; unit < first + count; ++unit) {
        const uint32_t row0 = unit / blocks_across * block_m;
        const uint32_t col0 = unit % blocks_across * block_n;
        for (uint32_t k0 = 0; k0 < inner; k0 += block_k) {
            cb_reserve_back(cb_a, block_m * block_k);
            uint32_t to = get_write_ptr(cb_a);
            for (uint32_t r = row0; r < row0 + block_m; ++r) {
                for (uint32_t k = k0; k < k0 + block_k; ++k, to += get_tile_size(cb_a)) {
                    fetch(a, r < rows && k < inner, r * inner + k, to, get_tile_size(cb_a));
                }
            }
            cb_reserve_back(cb_b, block_k * block_n);
            to = get_write_ptr(cb_b);
            for (uint32_t k = k0; k < k0 + block_k; ++k) {
                for (uint32_t c = col0; c < col0 + block_n; ++c, to += get_tile_size(cb_b)) {
                    fetch(b, k < inner && c < cols, b_is_transposed ? c * inner + k : k * cols + c, to, get_tile_size(cb_b));
                }
            }
            noc_async_read_barrier();
            cb_push_back(cb_a, block_m * block_k);
            cb_push_back(cb_b, block_k * block_n);
        }
    }
}
