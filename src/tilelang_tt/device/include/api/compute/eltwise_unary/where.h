// condition ? a : b.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(where_tile_init, Where)
VD_TERNARY(where_tile, Where)

}  // namespace ckernel
