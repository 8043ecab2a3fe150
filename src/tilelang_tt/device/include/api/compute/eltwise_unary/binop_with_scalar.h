// x op scalar; the scalar is an fp32 bit pattern. div_unary_tile multiplies: its caller passes 1/scalar.
#pragma once

#include "vd/sfpu.h"

VD_SFPU_INIT(binop_with_scalar_tile_init, Scalar)
VD_SFPU_SCALAR(add_unary_tile, AddScalar)
VD_SFPU_SCALAR(sub_unary_tile, SubScalar)
VD_SFPU_SCALAR(mul_unary_tile, MulScalar)
VD_SFPU_SCALAR(div_unary_tile, DivScalar)
VD_SFPU_SCALAR(rsub_unary_tile, RsubScalar)
