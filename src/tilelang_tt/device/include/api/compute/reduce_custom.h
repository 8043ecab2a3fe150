// Row maximum of a block of tiles that lie side by side, into one DST tile.
#pragma once

#include "api/compute/common.h"
#include "vd/compute.h"
#include "vd/missing.h"

namespace ckernel {

template <uint32_t tiles, auto...>
ALWI void reduce_block_max_row_init(uint32_t ocb, VD_LINE) {
    vd_block_max_init(tiles, ocb, false, line);
}
template <uint32_t tiles, auto...>
ALWI void reduce_block_max_row(uint32_t icb, uint32_t icb_scaler, uint32_t first_tile, uint32_t idst, VD_LINE) {
    vd_block_max(tiles, icb, icb_scaler, first_tile, idst, false, line);
}
template <auto...>
ALWI void reduce_block_max_row_uninit(uint32_t, VD_LINE) {
    vd_block_max_uninit(line);
}

VD_MISSING(reduce_block_max_row_reinit_short)
VD_MISSING(reduce_block_max_row_reinit_minimal)
VD_MISSING(reduce_block_max_row_reinit_minimal_runtime)
VD_MISSING(reduce_block_max_row_reinit_short_runtime)
// `respect_trigger`: instead of the buffer's counts the unpacker waits for a semaphore that the packer has posted, the first
// half of the tiles for another one if `overlap_first_half`. The uninit takes them back.
ALWI void reduce_block_max_row_init_runtime(uint32_t ocb, uint32_t tiles, bool respect_trigger = false, VD_LINE) {
    vd_block_max_init(tiles, ocb, respect_trigger, line);
}
ALWI void reduce_block_max_row_runtime(uint32_t icb, uint32_t icb_scaler, uint32_t first_tile, uint32_t idst,
                                       bool respect_trigger = false, bool overlap_first_half = false, VD_LINE) {
    if (respect_trigger) {
        if (overlap_first_half) vd_processor_semaphore_wait(semaphore::UNPACK_MATH_DONE, false, line);
        vd_processor_semaphore_wait(semaphore::FPU_SFPU, false, line);
    }
    vd_block_max(vd::kTilesOfInit, icb, icb_scaler, first_tile, idst, respect_trigger, line);
}
ALWI void reduce_block_max_row_uninit_runtime(uint32_t, bool respect_trigger = false, bool overlap_first_half = false,
                                              VD_LINE) {
    vd_block_max_uninit(line);
    if (!respect_trigger) return;
    vd_processor_semaphore_get(semaphore::FPU_SFPU, line);
    if (overlap_first_half) vd_processor_semaphore_get(semaphore::UNPACK_MATH_DONE, line);
}

}  // namespace ckernel
