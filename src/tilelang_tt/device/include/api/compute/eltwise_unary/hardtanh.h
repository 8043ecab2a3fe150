// Clamp between two scalars, as an activation.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP2(hardtanh, Hardtanh)
VD_PACK_INIT(hardtanh_tile_init_pack, Hardtanh)
template <auto...>
ALWI void hardtanh_tile_pack(uint32_t idst, uint32_t low, uint32_t high, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Hardtanh, idst, {idst, 0, 0}, {low, high, 0}, DataFormat::Invalid, false, true};
    vd_sfpu(&call, line);
}

}  // namespace ckernel
