// Scaled exponential linear unit: scale, alpha.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP2(selu, Selu)
VD_PACK_INIT(selu_tile_init_pack, Selu)
template <auto...>
ALWI void selu_tile_pack(uint32_t idst, uint32_t scale, uint32_t alpha, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Selu, idst, {idst, 0, 0}, {scale, alpha, 0}, DataFormat::Invalid, false, true};
    vd_sfpu(&call, line);
}

}  // namespace ckernel
