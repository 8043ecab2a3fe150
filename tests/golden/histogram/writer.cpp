// writer of 'histogram' for Wormhole: scalar code, element by element.
// the kernel uses the thread index 'tx'
#pragma GCC optimize("no-fast-math", "no-strict-aliasing")  // IEEE 754; blocks may be seen as other types
#include <cmath>
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_scratch = tt::CBIndex::c_0;  // 4096 bytes for lines of tensors and for blocks

// A tensor whose elements are read and written one at a time. A line of it is kept in L1; behind it is room for an
// element on its way out.
template <typename Pages, uint32_t page_bytes = 4096>
struct Elements {
    static constexpr uint32_t line_bytes = page_bytes % 256 == 0 ? 256 : 128, none = 0xffffffff;
    static constexpr uint32_t room = line_bytes + 64;

    const Pages& pages;
    const uint32_t l1;
    uint32_t line = none;
    bool writing = false;

    template <typename Word>
    Word get(uint32_t index) {
        const uint32_t at = index * sizeof(Word);
        if (line != at / line_bytes) {
            if (writing) noc_async_write_barrier();
            writing = false;
            line = at / line_bytes;
            const uint32_t start = line * line_bytes;
            noc_async_read(pages.get_noc_addr(start / page_bytes, start % page_bytes), l1, line_bytes);
            noc_async_read_barrier();
        }
        return *reinterpret_cast<volatile tt_l1_ptr Word*>(l1 + at % line_bytes);
    }

    template <typename Word>
    void put(uint32_t index, Word value) {
        const uint32_t at = index * sizeof(Word), slot = l1 + line_bytes + at % 64;
        noc_async_writes_flushed();
        *reinterpret_cast<volatile tt_l1_ptr Word*>(slot) = value;
        if (line == at / line_bytes) *reinterpret_cast<volatile tt_l1_ptr Word*>(l1 + at % line_bytes) = value;
        noc_async_write(slot, pages.get_noc_addr(at / page_bytes, at % page_bytes), sizeof(Word));
        writing = true;
    }
};

// Sums, differences and products that wrap around.
template <typename Whole>
inline Whole wrapped_add(Whole a, Whole b) { return Whole(uint64_t(a) + uint64_t(b)); }
template <typename Whole>
inline Whole wrapped_sub(Whole a, Whole b) { return Whole(uint64_t(a) - uint64_t(b)); }
template <typename Whole>
inline Whole wrapped_mul(Whole a, Whole b) { return Whole(uint64_t(a) * uint64_t(b)); }

void kernel_main() {
    const uint32_t X_addr = get_arg_val<uint32_t>(0);
    const uint32_t H_addr = get_arg_val<uint32_t>(1);
    const int32_t unit_start = get_arg_val<int32_t>(2);
    const int32_t unit_count = get_arg_val<int32_t>(3);
    constexpr auto X_args = TensorAccessorArgs<0>();
    const auto X_pages = TensorAccessor(X_args, X_addr);
    constexpr auto H_args = TensorAccessorArgs<X_args.next_compile_time_args_offset()>();
    const auto H_pages = TensorAccessor(H_args, H_addr);
    cb_reserve_back(cb_scratch, 1);
    const uint32_t scratch = get_write_ptr(cb_scratch);
    Elements<decltype(X_pages)> X{X_pages, scratch};
    Elements<decltype(H_pages)> H{H_pages, scratch + 320};
    const auto counts = reinterpret_cast<tt_l1_ptr int32_t*>(scratch + 640);  // 16 int32
    for (int32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const int32_t bx = unit;
        // kernel.py:11  with T.Kernel(T.ceildiv(SIZE, PART), threads=THREADS) as bx:
        for (int32_t tx = 0; tx < 64; ++tx) {
            // kernel.py:14  if tx < BINS:
            if (tx < 16) {
                // kernel.py:15  counts[tx] = 0
                counts[tx] = 0;
            }
        }
        for (int32_t tx = 0; tx < 64; ++tx) {
            // kernel.py:16  for k in T.serial(PART // THREADS):
            for (int32_t k = 0; k < 4; ++k) {
                const int32_t place = bx * 256 + k * 64 + tx;
                // kernel.py:18  if place < SIZE:
                if (place < 1000) {
                    // kernel.py:19  T.atomic_add(counts[X[place] & (BINS - 1)], 1)
                    const int32_t at = X.get<int32_t>(place) & 15;
                    counts[at] = wrapped_add<int32_t>(counts[at], 1);
                }
            }
        }
        for (int32_t tx = 0; tx < 64; ++tx) {
            // kernel.py:20  if tx < BINS:
            if (tx < 16) {
                // kernel.py:21  H[bx, tx] = counts[tx]
                H.put<int32_t>(bx * 16 + tx, counts[tx]);
            }
        }
    }
    noc_async_write_barrier();
}
