// x.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP(identity, Identity)
VD_UNARY(identity_tile_uint32, Identity)

}  // namespace ckernel
