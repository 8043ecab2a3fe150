// e to the power x, of x times a scale if asked: the init's in the approximate variant, else the call's (16 bits).
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

enum class InputClamping : uint8_t { None = 0, ClampToNegative = 1 };

template <bool fast = false, uint32_t scale = 0x3F800000, InputClamping clamping = InputClamping::ClampToNegative,
          auto...>
ALWI void exp_tile_init(VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Exp, 0, {}, {scale, static_cast<uint32_t>(clamping), 0}, DataFormat::Invalid, fast};
    vd_sfpu_init(&call, line);
}
template <bool fast = false, bool scale_en = false, InputClamping clamping = InputClamping::ClampToNegative,
          int iterations = 8, auto...>
ALWI void exp_tile(uint32_t idst, VectorMode mode = VectorMode::RC, uint16_t scale = 0x3F80, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Exp,       idst, {idst, 0, 0}, {scale_en ? uint32_t{scale} << 16 : 0x3F800000, static_cast<uint32_t>(clamping), 0},
                            DataFormat::Invalid, fast, false,        mode,
                            iterations};
    vd_sfpu(&call, line);
}
template <bool fast = false, uint32_t scale = 0x3F800000, InputClamping clamping = InputClamping::ClampToNegative,
          auto...>
ALWI void exp_packthread_tile_init(VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Exp, 0, {}, {scale, static_cast<uint32_t>(clamping), 0}, DataFormat::Invalid, fast, true};
    vd_sfpu_init(&call, line);
}
template <bool fast = false, bool scale_en = false, InputClamping clamping = InputClamping::ClampToNegative,
          int iterations = 8, auto...>
ALWI void exp_packthread_tile(uint32_t idst, VectorMode mode = VectorMode::RC, uint16_t scale = 0x3F80, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Exp,       idst, {idst, 0, 0}, {scale_en ? uint32_t{scale} << 16 : 0x3F800000, static_cast<uint32_t>(clamping), 0},
                            DataFormat::Invalid, fast, true,         mode,
                            iterations};
    vd_sfpu(&call, line);
}

}  // namespace ckernel
