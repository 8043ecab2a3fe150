// |a - b| <= atol + rtol * |b|, as 1.0 or 0.0.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(isclose_binary_tile_init, Isclose)
template <bool equal_nan = false>
ALWI void isclose_binary_tile(uint32_t idst0, uint32_t idst1, uint32_t odst, uint32_t rtol, uint32_t atol, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Isclose, odst, {idst0, idst1, 0}, {rtol, atol, equal_nan}};
    vd_sfpu(&call, line);
}

}  // namespace ckernel
