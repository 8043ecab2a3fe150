// Row-major pages to tiles: `block` tiles that lie side by side, 32 rows.
#pragma once

#include "api/compute/common.h"
#include "api/compute/reconfig_data_format.h"
#include "vd/compute.h"
#include "vd/missing.h"

namespace ckernel {

template <auto...>
ALWI void tilize_init(uint32_t icb, uint32_t block, uint32_t ocb, VD_LINE) {
    vd_tilize_init(icb, block, ocb, line);
}
template <auto...>
ALWI void tilize_init_short_with_dt(uint32_t before, uint32_t icb, uint32_t block, uint32_t ocb, VD_LINE) {
    vd::reconfig_srca(before, icb, line);
    vd_tilize_init(icb, block, ocb, line);
}
template <auto...>
ALWI void tilize_block(uint32_t icb, uint32_t block, uint32_t ocb, uint32_t input_tile_index = 0,
                       uint32_t output_tile_index = 0, VD_LINE) {
    vd_tilize_block(icb, block, ocb, input_tile_index, output_tile_index, line);
}
template <auto...>
ALWI void tilize_uninit(uint32_t icb, uint32_t ocb, VD_LINE) {
    vd_tilize_uninit(icb, ocb, line);
}
template <auto...>
ALWI void tilize_uninit_with_dt(uint32_t before, uint32_t after, uint32_t ocb, VD_LINE) {
    vd_tilize_uninit(before, ocb, line);
    vd::reconfig_srca(before, after, line);
}

// The faster forms mean the same; only their set-up differs.
template <auto...>
ALWI void fast_tilize_init(uint32_t icb, uint32_t block, uint32_t ocb, VD_LINE) {
    vd_tilize_init(icb, block, ocb, line);
}
template <auto...>
ALWI void fast_tilize_init_skip_remap(uint32_t icb, uint32_t block, uint32_t ocb, VD_LINE) {
    vd_tilize_init(icb, block, ocb, line);
}
template <auto...>
ALWI void fast_tilize_init_with_dt(uint32_t icb, uint32_t block, uint32_t ocb, VD_LINE) {
    vd_reconfig_srca(icb, line);
    vd_tilize_init(icb, block, ocb, line);
}
template <auto...>
ALWI void fast_tilize_init_with_dt_skip_remap(uint32_t icb, uint32_t block, uint32_t ocb, VD_LINE) {
    vd_reconfig_srca(icb, line);
    vd_tilize_init(icb, block, ocb, line);
}
template <auto...>
ALWI void fast_tilize_block(uint32_t icb, uint32_t block, uint32_t ocb, uint32_t input_tile_index = 0,
                            uint32_t output_tile_index = 0, VD_LINE) {
    vd_tilize_block(icb, block, ocb, input_tile_index, output_tile_index, line);
}
template <auto...>
ALWI void fast_tilize_uninit(uint32_t icb, uint32_t ocb, uint32_t, VD_LINE) {
    vd_tilize_uninit(icb, ocb, line);
}

VD_MISSING(tilizeA_B_reduce_init)
VD_MISSING(unpack_tilizeA_B_block)
VD_MISSING(unpack_tilizeA_B_uninit)

}  // namespace ckernel
