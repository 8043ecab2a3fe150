// Remainder with the sign of the divisor, which is given to the init.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

ALWI void remainder_tile_init(uint32_t divisor, uint32_t reciprocal, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Remainder, 0, {}, {divisor, reciprocal, 0}};
    vd_sfpu_init(&call, line);
}
VD_UNARY(remainder_tile, Remainder)
VD_INIT(remainder_tile_uint32_init, RemainderUint)
VD_UNARY1(remainder_tile_uint32, RemainderUint)

}  // namespace ckernel
