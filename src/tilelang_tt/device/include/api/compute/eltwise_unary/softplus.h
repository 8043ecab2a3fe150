// log(1 + e^(beta x)) / beta, x above the threshold.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(softplus_tile_init, Softplus)
VD_UNARY3(softplus_tile, Softplus)
VD_PACK_INIT(softplus_tile_init_pack, Softplus)
template <auto...>
ALWI void softplus_tile_pack(uint32_t idst, uint32_t beta, uint32_t beta_reciprocal, uint32_t threshold, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Softplus,  idst,  {idst, 0, 0}, {beta, beta_reciprocal, threshold},
                            DataFormat::Invalid, false, true};
    vd_sfpu(&call, line);
}

}  // namespace ckernel
