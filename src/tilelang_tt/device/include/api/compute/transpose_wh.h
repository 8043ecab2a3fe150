// Older names of transpose.
#pragma once

#include "vd/compute.h"

namespace ckernel {

ALWI void transpose_wh_init(uint32_t icb, uint32_t ocb, VD_LINE) {
    vd_startup(icb, icb, ocb, false, line);
    vd_transpose_init(icb, line);
}
ALWI void transpose_wh_init_short(uint32_t cb, VD_LINE) { vd_transpose_init(cb, line); }
ALWI void transpose_wh_tile(uint32_t cb, uint32_t tile, uint32_t idst, VD_LINE) {
    vd_transpose_tile(cb, tile, idst, line);
}

}  // namespace ckernel
