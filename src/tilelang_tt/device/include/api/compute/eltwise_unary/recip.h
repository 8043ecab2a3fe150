// 1 / x.
#pragma once

#include "vd/sfpu.h"

template <bool legacy_compat = true>
VD_SFPU_INIT(recip_tile_init, Recip)
template <bool legacy_compat = true>
ALWI void recip_tile(uint32_t idst, VectorMode mode = VectorMode::RC, VD_LINE) {
    vd::require_whole_tile(mode, "recip_tile on part of a tile", line);
    vd_sfpu_unary(static_cast<uint32_t>(vd::Sfpu::Recip), idst, 0, line);
}
