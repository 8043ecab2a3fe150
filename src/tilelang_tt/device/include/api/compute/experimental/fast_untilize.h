// Rows of tiles to row-major pages, quickly on Blackhole and as pack_untilize elsewhere: the same bytes.
#pragma once

#include "api/compute/pack_untilize.h"

namespace ckernel {

// The SDK goes through DST in parts; here a row must fit.
template <uint32_t full_ct_dim>
ALWI void fast_untilize_init(uint32_t icb, uint32_t ocb, VD_LINE) {
    if (full_ct_dim > (DST_ACCUM_MODE ? 4 : 8)) vd_unimplemented("fast_untilize of more tiles than DST holds", line);
    vd_reconfig_srca(icb, line);
    vd_reconfig_pack(ocb, line);
    pack_untilize_init<full_ct_dim, full_ct_dim>(icb, ocb, line);
}
template <uint32_t full_ct_dim>
ALWI void fast_untilize_init_skip_remap(uint32_t icb, uint32_t ocb, VD_LINE) {
    fast_untilize_init<full_ct_dim>(icb, ocb, line);
}
template <uint32_t full_ct_dim>
ALWI void fast_untilize_block(uint32_t icb, uint32_t ocb, uint32_t input_tile_index = 0, uint32_t output_tile_index = 0,
                              VD_LINE) {
    if (input_tile_index != 0 || output_tile_index != 0) vd_unimplemented("fast_untilize_block of later tiles", line);
    pack_untilize_block<full_ct_dim, full_ct_dim>(icb, 1, ocb, 0, line);
}
template <uint32_t full_ct_dim>
ALWI void fast_untilize_uninit(uint32_t ocb, VD_LINE) {
    pack_untilize_uninit(ocb, line);
}

}  // namespace ckernel
