// e to the power x. The built-in scale (16 bits) is not implemented: multiply by a scalar first.
#pragma once

#include "vd/sfpu.h"

enum class InputClamping : uint8_t { None = 0, ClampToNegative = 1 };

template <bool approx = false, uint32_t scale = 0x3F800000, InputClamping clamping = InputClamping::ClampToNegative>
ALWI void exp_tile_init(VD_LINE) {
    static_assert(scale == 0x3F800000, "unimplemented on the virtual device: exp_tile_init with a scale");
    vd_sfpu_init(static_cast<uint32_t>(vd::Sfpu::Exp), line);
}
template <bool approx = false, bool scale_en = false, InputClamping clamping = InputClamping::ClampToNegative,
          int iterations = 8>
ALWI void exp_tile(uint32_t idst, VectorMode mode = VectorMode::RC, uint16_t = 0x3F80, VD_LINE) {
    static_assert(!scale_en, "unimplemented on the virtual device: exp_tile with a scale");
    vd::require_whole_tile(mode, "exp_tile on part of a tile", line);
    vd_sfpu_unary(static_cast<uint32_t>(vd::Sfpu::Exp), idst, 0, line);
}
