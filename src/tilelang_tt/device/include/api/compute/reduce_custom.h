// Row maximum of a block of tiles that lie side by side, into one DST tile.
#pragma once

#include "api/compute/common.h"
#include "vd/compute.h"
#include "vd/missing.h"

namespace ckernel {

template <uint32_t tiles, auto...>
ALWI void reduce_block_max_row_init(uint32_t ocb, VD_LINE) {
    vd_block_max_init(tiles, ocb, line);
}
template <uint32_t tiles, auto...>
ALWI void reduce_block_max_row(uint32_t icb, uint32_t icb_scaler, uint32_t first_tile, uint32_t idst, VD_LINE) {
    vd_block_max(tiles, icb, icb_scaler, first_tile, idst, line);
}
template <auto...>
ALWI void reduce_block_max_row_uninit(uint32_t, VD_LINE) {
    vd_block_max_uninit(line);
}

VD_MISSING(reduce_block_max_row_reinit_short)
VD_MISSING(reduce_block_max_row_reinit_minimal)
VD_MISSING(reduce_block_max_row_reinit_minimal_runtime)
VD_MISSING(reduce_block_max_row_reinit_short_runtime)
VD_MISSING(reduce_block_max_row_init_runtime)
VD_MISSING(reduce_block_max_row_runtime)
VD_MISSING(reduce_block_max_row_uninit_runtime)

}  // namespace ckernel
