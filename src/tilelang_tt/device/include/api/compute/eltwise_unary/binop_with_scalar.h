// x op scalar; the scalar is an fp32 bit pattern. div_unary_tile multiplies: its caller passes 1/scalar.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(binop_with_scalar_tile_init, Scalar)
VD_UNARY1(add_unary_tile, AddScalar)
VD_UNARY1(sub_unary_tile, SubScalar)
VD_UNARY1(mul_unary_tile, MulScalar)
VD_UNARY1(div_unary_tile, DivScalar)
VD_UNARY1(rsub_unary_tile, RsubScalar)
VD_UNARY1(add_unary_tile_int32, AddScalarInt)
VD_UNARY1(sub_unary_tile_int32, SubScalarInt)

}  // namespace ckernel
