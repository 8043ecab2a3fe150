// Square root.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(sqrt_tile_init, Sqrt)
template <bool fast = false, auto...>
ALWI void sqrt_tile(uint32_t idst, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Sqrt, idst, {idst, 0, 0}, {fast, 0, 0}};
    vd_sfpu(&call, line);
}

}  // namespace ckernel
