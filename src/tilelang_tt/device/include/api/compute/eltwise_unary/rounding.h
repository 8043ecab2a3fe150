// Round to whole numbers; one init for all.
#pragma once

#include "vd/compute.h"
#include "vd/missing.h"
#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(rounding_op_tile_init, Rounding)
VD_UNARY(ceil_tile, Ceil)
VD_UNARY(floor_tile, Floor)
VD_UNARY(trunc_tile, Trunc)
VD_UNARY(frac_tile, Frac)
ALWI void round_tile(uint32_t idst, int32_t decimals, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Round, idst, {idst, 0, 0}, {static_cast<uint32_t>(decimals), 0, 0}};
    vd_sfpu(&call, line);
}
VD_MISSING(stochastic_round_tile)

}  // namespace ckernel
