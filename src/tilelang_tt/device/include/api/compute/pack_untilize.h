// Tiles to row-major pages in the packer: `block_ct_dim` of `full_ct_dim` tiles of a row per call.
#pragma once

#include "api/compute/common.h"
#include "vd/compute.h"

namespace ckernel {


template <uint32_t block_ct_dim = 8, uint32_t full_ct_dim = block_ct_dim, auto...>
ALWI void pack_untilize_init(uint32_t icb, uint32_t ocb, VD_LINE) {
    vd_copy_init(icb, false, false, line);
    vd_pack_untilize_init(block_ct_dim, full_ct_dim, ocb, line);
}
template <uint32_t block_ct_dim = 8, uint32_t full_ct_dim = block_ct_dim, auto...>
ALWI void pack_untilize_init_skip_remap(uint32_t icb, uint32_t ocb, VD_LINE) {
    vd_copy_init(icb, false, false, line);
    vd_pack_untilize_init(block_ct_dim, full_ct_dim, ocb, line);
}
template <uint32_t block_ct_dim = 8, uint32_t full_ct_dim = block_ct_dim, auto...>
ALWI void pack_untilize_block(uint32_t icb, uint32_t block_rt_dim, uint32_t ocb, uint32_t block_c_index = 0, VD_LINE) {
    vd_pack_untilize_block(icb, block_rt_dim, block_ct_dim, full_ct_dim, ocb, block_c_index, line);
}
template <uint32_t block_ct_dim = 8, uint32_t full_ct_dim = block_ct_dim, bool narrow_row = false,
          uint32_t row_num_datums = TILE_C_DIM, bool dense = false, auto...>
ALWI void pack_untilize_dest_init(uint32_t ocb, VD_LINE) {
    if (narrow_row || dense || row_num_datums != TILE_C_DIM) {
        vd_unimplemented("pack_untilize_dest_init of narrow or dense rows", line);
    }
    vd_reconfig_pack(ocb, line);
    vd_pack_untilize_init(block_ct_dim, full_ct_dim, ocb, line);
}
template <uint32_t block_ct_dim = 8, uint32_t full_ct_dim = block_ct_dim, bool diagonal = false,
          bool narrow_row = false, uint32_t row_num_datums = TILE_C_DIM, uint32_t tile_dst_ct_offset = 0,
          bool dense = false, auto...>
ALWI void pack_untilize_dest(uint32_t ocb, uint32_t block_rt_dim = 1, uint32_t block_c_index = 0,
                             uint32_t tile_dst_rt_offset = 0, VD_LINE) {
    if (diagonal || narrow_row || dense || row_num_datums != TILE_C_DIM || tile_dst_rt_offset != 0) {
        vd_unimplemented("pack_untilize_dest of diagonals, narrow or dense rows, or with a row offset", line);
    }
    vd_pack_untilize_dest(block_ct_dim, full_ct_dim, ocb, block_rt_dim, block_c_index, tile_dst_ct_offset, line);
}
template <auto...>
ALWI void pack_untilize_uninit(uint32_t ocb, VD_LINE) {
    vd_pack_untilize_uninit(ocb, line);
}

}  // namespace ckernel
