// The same value in every element.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(fill_tile_init, Fill)
ALWI void fill_tile(uint32_t idst, float value, VD_LINE) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    const vd::SfpuCall call{vd::Sfpu::Fill, idst, {idst, 0, 0}, {bits, 0, 0}};
    vd_sfpu(&call, line);
}
VD_UNARY1(fill_tile_bitcast, Fill)
VD_INT_UNARY1(fill_tile_int, FillInt)

}  // namespace ckernel
