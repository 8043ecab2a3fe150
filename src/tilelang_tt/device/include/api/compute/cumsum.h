// Running sums down the columns; `first` starts new ones.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(cumsum_tile_init, Cumsum)
ALWI void cumsum_tile(uint32_t idst, bool first = true, VD_LINE) { vd_cumsum(idst, first, line); }

}  // namespace ckernel
