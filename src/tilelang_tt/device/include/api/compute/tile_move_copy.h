// Circular buffer to DST.
#pragma once

#include "api/compute/reconfig_data_format.h"
#include "vd/compute.h"

namespace ckernel {

template <auto...>
ALWI void copy_tile_to_dst_init_short(uint32_t cb, uint32_t transpose = 0, uint32_t transpose_within_16x16_face = 0,
                                      VD_LINE) {
    vd_copy_init(cb, transpose != 0, transpose_within_16x16_face != 0, line);
}
template <auto...>
ALWI void copy_tile_init(uint32_t cb, VD_LINE) {
    vd_copy_init(cb, false, false, line);
}
template <auto...>
ALWI void copy_init(uint32_t cb, uint32_t transpose = 0, VD_LINE) {
    if (transpose != 0) vd_unimplemented("copy_init with a transpose", line);
    vd_copy_init(cb, false, false, line);
}
template <auto...>
ALWI void copy_tile_to_dst_init_short_with_dt(uint32_t before, uint32_t after, uint32_t transpose = 0, VD_LINE) {
    if (transpose != 0) vd_unimplemented("copy_tile_to_dst_init_short_with_dt with a transpose", line);
    vd::reconfig_srca(before, after, line);
    vd_copy_init(after, false, false, line);
}
template <auto...>
ALWI void copy_tile(uint32_t cb, uint32_t tile, uint32_t idst, VD_LINE) {
    vd_copy_tile(cb, tile, idst, line);
}
template <auto...>
ALWI void copy_block(uint32_t cb, uint32_t first_tile, uint32_t first_dst, uint32_t tiles, VD_LINE) {
    for (uint32_t tile = 0; tile < tiles; ++tile) {
        vd_copy_tile(cb, first_tile + tile, first_dst + tile, line);
    }
}
template <auto...>
ALWI void copy_block_matmul_partials(uint32_t cb, uint32_t first_tile, uint32_t first_dst, uint32_t tiles, VD_LINE) {
    for (uint32_t tile = 0; tile < tiles; ++tile) {
        vd_copy_tile(cb, first_tile + tile, first_dst + tile, line);
    }
}

}  // namespace ckernel
