// scalar - x.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP1(rsub, Rsub)
VD_INIT(rsub_unary_int32_tile_init, RsubScalarInt)
VD_UNARY1(rsub_unary_int32_tile, RsubScalarInt)

}  // namespace ckernel
