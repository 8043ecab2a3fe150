// -x.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP(negative, Negative)
VD_UNARY(negative_tile_int32, NegativeInt)

}  // namespace ckernel
