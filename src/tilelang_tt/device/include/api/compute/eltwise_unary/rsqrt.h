// 1 / square root. The first flag is the legacy variant in ttnn 0.77 (init and call agree on it), a mode later.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

enum class RsqrtMode { Default, Fast };

template <auto legacy = false, auto...>
ALWI void rsqrt_tile_init(VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Rsqrt, 0, {}, {}, DataFormat::Invalid, vd::flag(legacy)};
    vd_sfpu_init(&call, line);
}
template <auto legacy = false, bool fast = false, auto...>
ALWI void rsqrt_tile(uint32_t idst, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Rsqrt, idst, {idst, 0, 0}, {fast, 0, 0}, DataFormat::Invalid, vd::flag(legacy)};
    vd_sfpu(&call, line);
}

}  // namespace ckernel
