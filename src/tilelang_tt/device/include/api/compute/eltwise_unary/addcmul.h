// a + value * b * c.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(addcmul_tile_init, Addcmul)
VD_TERNARY1(addcmul_tile, Addcmul)

}  // namespace ckernel
