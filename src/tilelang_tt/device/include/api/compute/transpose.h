// Whole 32x32 tile transposed on its way to DST.
#pragma once

#include "api/compute/common.h"
#include "vd/compute.h"

namespace ckernel {

template <auto...>
ALWI void transpose_init(uint32_t cb, VD_LINE) {
    vd_transpose_init(cb, line);
}
template <auto...>
ALWI void transpose_tile(uint32_t cb, uint32_t tile, uint32_t idst, VD_LINE) {
    vd_transpose_tile(cb, tile, idst, line);
}
template <auto...>
ALWI void transpose_block(uint32_t cb, uint32_t first_tile, uint32_t first_dst, uint32_t tiles, VD_LINE) {
    for (uint32_t tile = 0; tile < tiles; ++tile) {
        vd_transpose_tile(cb, first_tile + tile, first_dst + tile, line);
    }
}

}  // namespace ckernel
