// The logarithm of the gamma function in steps: the series, in bfloat16 or with a logarithm that was computed before, and the
// reflection of numbers below 0.5.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP(lgamma_stirling, Lgamma)
VD_BINARY_OP(lgamma_stirling_float, LgammaLong)
VD_INIT(lgamma_adjusted_tile_init, LgammaReflected)
ALWI void lgamma_adjusted_tile(uint32_t idst0, uint32_t idst1, uint32_t idst2, uint32_t odst, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::LgammaReflected, odst, {idst0, idst1, idst2}, {}};
    vd_sfpu(&call, line);
}

}  // namespace ckernel
