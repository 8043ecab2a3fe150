// TileSlice in DPRINT: elements of a tile of a circular buffer, from its front or its back.
#pragma once

#include "vd/print.h"

struct SliceRange {
    uint8_t h0, h1, hs, w0, w1, ws;

    static constexpr SliceRange hw0_32_16() { return {0, 32, 16, 0, 32, 16}; }
    static constexpr SliceRange hw0_32_8() { return {0, 32, 8, 0, 32, 8}; }
    static constexpr SliceRange hw0_32_4() { return {0, 32, 4, 0, 32, 4}; }
    static constexpr SliceRange h0_w0_32() { return {0, 1, 1, 0, 32, 1}; }
    static constexpr SliceRange h0_32_w0() { return {0, 32, 1, 0, 1, 1}; }
    static constexpr SliceRange h0_32_w1() { return {0, 32, 1, 1, 2, 1}; }
    static constexpr SliceRange h1_w0_32() { return {1, 2, 1, 0, 32, 1}; }
};

#define TSLICE_INPUT_CB true
#define TSLICE_OUTPUT_CB false
#define TSLICE_RD_PTR true
#define TSLICE_WR_PTR false
using dprint_tslice_cb_t = bool;
using dprint_tslice_ptr_t = bool;

namespace vd {

// The text of a slice. Compute has both ends of a buffer: the front where it has waited for the tile, else the back.
struct SliceText {
    char text[kPrinted / 2];

    SliceText(uint8_t cb, int tile, const SliceRange& range, VdSliceEnd end, bool rows, bool untilized, uint32_t most) {
        const uint8_t bounds[6] = {range.h0, range.h1, range.hs, range.w0, range.w1, range.ws};
        vd_tile_slice(cb, static_cast<uint32_t>(tile), bounds, end, rows, untilized, most, text, sizeof text);
    }
    operator const char*() const { return text; }
};

}  // namespace vd

#if defined(COMPILE_FOR_NCRISC)
constexpr dprint_tslice_ptr_t kSliceEnd = TSLICE_WR_PTR;  // a reader looks at what it has reserved
#else
constexpr dprint_tslice_ptr_t kSliceEnd = TSLICE_RD_PTR;
#endif

template <int max_bytes = 64>
struct TileSlice : vd::SliceText {
#if defined(COMPILE_FOR_TRISC)
    TileSlice(uint8_t cb, int tile, const SliceRange& range, bool endl_rows = true, bool print_untilized = true)
        : SliceText(cb, tile, range, VD_SLICE_EITHER, endl_rows, print_untilized, max_bytes) {}
#else
    TileSlice(uint8_t cb, int tile, const SliceRange& range, dprint_tslice_cb_t,
              dprint_tslice_ptr_t pointer = kSliceEnd, bool endl_rows = true,
              bool print_untilized = true)
        : SliceText(cb, tile, range, pointer == TSLICE_RD_PTR ? VD_SLICE_FRONT : VD_SLICE_BACK, endl_rows,
                    print_untilized, max_bytes) {}
#endif
};
using TSLICE = TileSlice<64>;
