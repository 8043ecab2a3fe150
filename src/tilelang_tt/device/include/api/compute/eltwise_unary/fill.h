// The same value in every element.
#pragma once

#include "vd/sfpu.h"

VD_SFPU_INIT(fill_tile_init, Fill)
ALWI void fill_tile(uint32_t idst, float value, VD_LINE) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    vd_sfpu_unary(static_cast<uint32_t>(vd::Sfpu::Fill), idst, bits, line);
}
VD_SFPU_SCALAR(fill_tile_bitcast, Fill)
