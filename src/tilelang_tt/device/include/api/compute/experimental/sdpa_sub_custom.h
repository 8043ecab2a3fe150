// A row of tiles minus one tile whose first column is broadcast.
#pragma once

#include "api/compute/common.h"
#include "vd/compute.h"

namespace ckernel {

ALWI void sub_bcast_cols_init_short_custom(uint32_t icb0, uint32_t icb1, uint32_t ct_dim, VD_LINE) {
    vd_sub_columns_init(icb0, icb1, ct_dim, line);
}
ALWI void sub_tiles_bcast_cols_custom(uint32_t icb0, uint32_t icb1, uint32_t itile0, uint32_t itile1, uint32_t idst,
                                      uint32_t ct_dim, VD_LINE) {
    vd_sub_columns(icb0, icb1, itile0, itile1, idst, ct_dim, line);
}

}  // namespace ckernel
