// base to the power x.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(rpow_tile_init, Rpow)
template <auto...>
ALWI void rpow_tile(uint32_t idst, uint32_t base, VectorMode mode = VectorMode::RC, VD_LINE) {
    vd::SfpuCall call{vd::Sfpu::Rpow, idst, {idst, 0, 0}, {base, 0, 0}};
    call.mode = mode;
    vd_sfpu(&call, line);
}

}  // namespace ckernel
