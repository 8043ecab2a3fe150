// TileSlice in DPRINT: named in the output, its values are not shown.
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

enum dprint_tslice_cb_t : uint8_t { TSLICE_INPUT_CB, TSLICE_OUTPUT_CB };
enum dprint_tslice_ptr_t : uint8_t { TSLICE_RD_PTR, TSLICE_WR_PTR };

template <int max_bytes = 64>
struct TileSlice {
    template <typename... Options>
    TileSlice(uint8_t, int, const SliceRange&, Options...) {}
    operator const char*() const { return "(TileSlice)"; }
};
using TSLICE = TileSlice<64>;
