// writer of 'first_drop' for Wormhole: moves finished tiles from L1 to DRAM, and carries out scalar code, element by element.
#pragma GCC optimize("no-fast-math", "no-strict-aliasing")  // IEEE 754; blocks may be seen as other types
#include <cmath>
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

constexpr uint32_t cb_scores_out = tt::CBIndex::c_16;  // 2 blocks of 2 x 2 tiles, Float32
constexpr uint32_t scores_out_rows = 2, scores_out_cols = 2, scores_out_tiles = scores_out_rows * scores_out_cols;
constexpr uint32_t cb_scratch = tt::CBIndex::c_17;  // 20480 bytes for lines of tensors and blocks of scalar code
constexpr uint32_t cb_stored = tt::CBIndex::c_18;  // no data: a word of the writer for the reader
constexpr uint32_t scores_handed_tile_rows = 2, scores_handed_tile_cols = 2;  // tensor scores_handed, in tiles
constexpr uint32_t C_tile_cols = 4;  // tensor C, in tiles

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

// The same bits as another type of the same size.
template <typename To, typename From>
inline To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    __builtin_memcpy(&to, &from, sizeof(To));
    return to;
}

inline uint16_t to_bfloat16(float number) {
    const uint32_t bits = bits_as<uint32_t>(number);
    if ((bits & 0x7fffffff) > 0x7f800000) return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

inline float from_bfloat16(uint16_t bits) { return bits_as<float>(uint32_t(bits) << 16); }

// A tensor that lies as the tile engines want it. Tiles of 2048 bytes hold bfloat16, others numbers of 32 bits, and so
// do rows, whose next 16 columns follow at once. An element is there in each of `rows` rows and `cols` columns.
template <typename Pages, uint32_t page_bytes, uint32_t rows = 1, uint32_t cols = 1, uint32_t next_columns = 256>
struct Tiles {
    static constexpr bool narrow = page_bytes == 2048 && next_columns == 256;
    Elements<Pages, page_bytes> elements;

    template <typename Word>
    Word get(uint32_t index) {
        if constexpr (narrow) {
            return from_bfloat16(elements.template get<uint16_t>(index));
        } else {
            return elements.template get<Word>(index);
        }
    }

    template <typename Word>
    void put(uint32_t index, Word value) {
        for (uint32_t row = 0; row < rows; ++row) {
            for (uint32_t col = 0; col < cols; ++col) {
                const uint32_t at = index + row / 16 * 512 + row % 16 * 16 + col / 16 * next_columns + col % 16;
                if constexpr (narrow) {
                    elements.put(at, to_bfloat16(value));
                } else {
                    elements.put(at, value);
                }
            }
        }
    }
};

// The number of an element of matrices in 32 x 32 tiles: four faces of 16 x 16 make a tile, two beside two.
inline uint32_t in_tiles(uint32_t matrix, uint32_t row, uint32_t col, uint32_t row_tiles, uint32_t col_tiles) {
    const uint32_t tile = (matrix * row_tiles + row / 32) * col_tiles + col / 32;
    return tile * 1024 + row % 32 / 16 * 512 + col % 32 / 16 * 256 + row % 16 * 16 + col % 16;
}

// Sums, differences and products that wrap around.
template <typename Whole>
inline Whole wrapped_add(Whole a, Whole b) { return Whole(uint64_t(a) + uint64_t(b)); }
template <typename Whole>
inline Whole wrapped_sub(Whole a, Whole b) { return Whole(uint64_t(a) - uint64_t(b)); }
template <typename Whole>
inline Whole wrapped_mul(Whole a, Whole b) { return Whole(uint64_t(a) * uint64_t(b)); }

void kernel_main() {
    const uint32_t scores_handed_addr = get_arg_val<uint32_t>(0);
    const uint32_t rise_handed_addr = get_arg_val<uint32_t>(1);
    const uint32_t C_addr = get_arg_val<uint32_t>(2);
    const uint32_t unit_start = get_arg_val<uint32_t>(3);  // first unit of work of this core
    const uint32_t unit_count = get_arg_val<uint32_t>(4);  // units of work of this core

    constexpr auto scores_handed_args = TensorAccessorArgs<0>();
    const auto scores_handed_pages = TensorAccessor(scores_handed_args, scores_handed_addr);
    constexpr auto rise_handed_args = TensorAccessorArgs<scores_handed_args.next_compile_time_args_offset()>();
    const auto rise_handed_pages = TensorAccessor(rise_handed_args, rise_handed_addr);
    constexpr auto C_args = TensorAccessorArgs<rise_handed_args.next_compile_time_args_offset()>();
    const auto C_pages = TensorAccessor(C_args, C_addr);
    constexpr uint32_t scores_out_tile_bytes = get_tile_size(cb_scores_out);

    cb_reserve_back(cb_scratch, 5);
    for (uint32_t unit = unit_start; unit < unit_start + unit_count; ++unit) {
        const uint32_t bx = unit % 2;
        const uint32_t by = unit / 2;
        cb_wait_front(cb_scores_out, scores_out_tiles);
        // kernel.py:22  for i in T.serial(64):
        const uint32_t scores_out_l1 = get_read_ptr(cb_scores_out);
        for (uint32_t i = 0; i < scores_out_rows; ++i) {
            for (uint32_t j = 0; j < scores_out_cols; ++j) {
                noc_async_write_page(((bx * 2 + by) * scores_handed_tile_rows + i) * scores_handed_tile_cols + j,
                    scores_handed_pages, scores_out_l1 + (i * scores_out_cols + j) * scores_out_tile_bytes);
            }
        }
        noc_async_writes_flushed();
        cb_pop_front(cb_scores_out, scores_out_tiles);
        noc_async_write_barrier();
        // scalar code: a while loop is not supported by this version
        {
            const int32_t bx_1 = bx;
            const int32_t by_1 = by;
            const uint32_t scratch = get_write_ptr(cb_scratch);
            Tiles<decltype(scores_handed_pages), scores_handed_args.get_aligned_page_size()> scores_handed{{scores_handed_pages, scratch}};
            Tiles<decltype(rise_handed_pages), rise_handed_args.get_aligned_page_size(), 1, 32> rise_handed{{rise_handed_pages, scratch + 320}};
            const auto at_scores_handed = [&](uint32_t i0, uint32_t i1, uint32_t i2, uint32_t i3) -> uint32_t { return in_tiles((i0) * 2 + i1, i2, i3, 2, 2); };
            const auto at_rise_handed = [&](uint32_t i0, uint32_t i1, uint32_t i2) -> uint32_t { return in_tiles((i0) * 2 + i1, i2, 0, 2, 1); };
            const auto scores = reinterpret_cast<tt_l1_ptr float*>(scratch + 640);  // 64 x 64 float32
            const auto rise = reinterpret_cast<tt_l1_ptr float*>(scratch + 17024);  // 64 float32
            int32_t j = 0;
            for (int32_t k = 0; k < 64; ++k) {
                for (int32_t l = 0; l < 64; ++l) {
                    scores[k * 64 + l] = scores_handed.get<float>(at_scores_handed(bx_1, by_1, k, l));
                }
            }
            for (int32_t i = 0; i < 64; ++i) {
                // kernel.py:24  j = 0
                j = 0;
                // kernel.py:25  while j < 63 and scores[i, j] < scores[i, j + 1]:
                while (j < 63 && scores[i * 64 + j] < scores[i * 64 + j + 1]) {
                    // kernel.py:26  j = j + 1
                    j = wrapped_add<int32_t>(j, 1);
                }
                // kernel.py:27  rise[i] = T.cast(j, "float32")
                rise[i] = float(j);
            }
            for (int32_t i = 0; i < 64; ++i) {
                rise_handed.put<float>(at_rise_handed(bx_1, by_1, i), rise[i]);
            }
        }
        noc_async_write_barrier();
        cb_reserve_back(cb_stored, 1);
        cb_push_back(cb_stored, 1);
        cb_wait_front(cb_scores_out, scores_out_tiles);
        // kernel.py:30  T.copy(scores, C[by * 64, bx * 64])
        const uint32_t scores_out_l1_1 = get_read_ptr(cb_scores_out);
        for (uint32_t i = 0; i < scores_out_rows; ++i) {
            for (uint32_t j_1 = 0; j_1 < scores_out_cols; ++j_1) {
                noc_async_write_page((by * scores_out_rows + i) * C_tile_cols + bx * scores_out_cols + j_1, C_pages,
                    scores_out_l1_1 + (i * scores_out_cols + j_1) * scores_out_tile_bytes);
            }
        }
        noc_async_writes_flushed();
        cb_pop_front(cb_scores_out, scores_out_tiles);
    }
    noc_async_write_barrier();
}
