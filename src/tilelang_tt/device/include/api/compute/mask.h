// Zero (or infinity) where the mask is zero. The chip reads the mask from the tile after the data.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(mask_tile_init, Mask)
ALWI void mask_tile(uint32_t data, uint32_t, DataFormat format = DataFormat::Float16_b, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Mask, data, {data, data + 1, 0}, {}, format};
    vd_sfpu(&call, line);
}
ALWI void mask_posinf_tile(uint32_t data, uint32_t, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::MaskPosinf, data, {data, data + 1, 0}, {}};
    vd_sfpu(&call, line);
}

}  // namespace ckernel
