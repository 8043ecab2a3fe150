// value / x.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(rdiv_tile_init, Rdiv)
template <RoundingMode rounding = RoundingMode::None, auto...>
ALWI void rdiv_tile(uint32_t idst, uint32_t value, VectorMode mode = VectorMode::RC, VD_LINE) {
    vd::SfpuCall call{vd::Sfpu::Rdiv, idst, {idst, 0, 0}, {value, static_cast<uint32_t>(rounding), 0}};
    call.mode = mode;
    vd_sfpu(&call, line);
}

}  // namespace ckernel
