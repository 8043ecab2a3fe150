// Remainder with the sign of x; the divisor is given to the init.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

ALWI void fmod_tile_init(uint32_t divisor, uint32_t reciprocal, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Fmod, 0, {}, {divisor, reciprocal, 0}};
    vd_sfpu_init(&call, line);
}
VD_UNARY(fmod_tile, Fmod)

}  // namespace ckernel
