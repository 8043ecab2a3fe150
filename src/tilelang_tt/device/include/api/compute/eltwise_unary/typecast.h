// Change of number format inside DST.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

template <uint32_t from, uint32_t to, auto...>
ALWI void typecast_tile_init(VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Typecast, 0, {}, {from, to, 0}};
    vd_sfpu_init(&call, line);
}
template <uint32_t from, uint32_t to, auto...>
ALWI void typecast_tile(uint32_t idst, VD_LINE) {
    vd_typecast(from, to, idst, line);
}

}  // namespace ckernel
