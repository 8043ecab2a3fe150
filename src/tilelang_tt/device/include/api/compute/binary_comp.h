// Integer comparisons of two DST tiles: 1 or 0.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(eq_int_tile_init, EqInt)
VD_INT_BINARY(eq_int_tile, EqInt)
VD_INIT(ne_int_tile_init, NeInt)
VD_INT_BINARY(ne_int_tile, NeInt)
VD_INIT(lt_int_tile_init, LtInt)
VD_INT_BINARY(lt_int_tile, LtInt)
VD_INIT(gt_int_tile_init, GtInt)
VD_INT_BINARY(gt_int_tile, GtInt)
VD_INIT(le_int_tile_init, LeInt)
VD_INT_BINARY(le_int_tile, LeInt)
VD_INIT(ge_int_tile_init, GeInt)
VD_INT_BINARY(ge_int_tile, GeInt)

}  // namespace ckernel
