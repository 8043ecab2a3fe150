// Vector-unit maximum and minimum of two DST tiles.
#pragma once

#include "vd/sfpu.h"

VD_SFPU_INIT(binary_max_tile_init, BinaryMax)
VD_SFPU_INIT(binary_min_tile_init, BinaryMin)
ALWI void binary_max_tile(uint32_t idst0, uint32_t idst1, uint32_t odst, VectorMode mode = VectorMode::RC, VD_LINE) {
    vd::require_whole_tile(mode, "binary_max_tile on part of a tile", line);
    vd_sfpu_binary(static_cast<uint32_t>(vd::Sfpu::BinaryMax), idst0, idst1, odst, line);
}
ALWI void binary_min_tile(uint32_t idst0, uint32_t idst1, uint32_t odst, VectorMode mode = VectorMode::RC, VD_LINE) {
    vd::require_whole_tile(mode, "binary_min_tile on part of a tile", line);
    vd_sfpu_binary(static_cast<uint32_t>(vd::Sfpu::BinaryMin), idst0, idst1, odst, line);
}
