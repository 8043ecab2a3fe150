// Integer difference of two DST tiles.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(sub_int_tile_init, SubInt)
VD_INT_BINARY(sub_int_tile, SubInt)
VD_INIT(rsub_int_tile_init, RsubInt)
VD_INT_BINARY(rsub_int_tile, RsubInt)

}  // namespace ckernel
