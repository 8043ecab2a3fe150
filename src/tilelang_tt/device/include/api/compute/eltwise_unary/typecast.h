// Change of number format inside DST.
#pragma once

#include "vd/sfpu.h"

template <uint32_t IN_DTYPE, uint32_t OUT_DTYPE>
VD_SFPU_INIT(typecast_tile_init, Typecast)
template <uint32_t IN_DTYPE, uint32_t OUT_DTYPE>
ALWI void typecast_tile(uint32_t idst, VD_LINE) {
    vd_typecast(IN_DTYPE, OUT_DTYPE, idst, line);
}
