// Comparisons with zero or a scalar: 1 or 0.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP1(unary_eq, UnaryEq)
VD_UNARY1(unary_eq_tile_int32, UnaryEqInt)
VD_OP1(unary_ne, UnaryNe)
VD_UNARY1(unary_ne_tile_int32, UnaryNeInt)
VD_OP1(unary_gt, UnaryGt)
VD_UNARY1(unary_gt_tile_int32, UnaryGtInt)
VD_OP1(unary_ge, UnaryGe)
VD_UNARY1(unary_ge_tile_int32, UnaryGeInt)
VD_OP1(unary_lt, UnaryLt)
VD_UNARY1(unary_lt_tile_int32, UnaryLtInt)
VD_OP1(unary_le, UnaryLe)
VD_UNARY1(unary_le_tile_int32, UnaryLeInt)
VD_OP(eqz, Eqz)
VD_UNARY(eqz_tile_int32, EqzInt)
VD_OP(nez, Nez)
VD_UNARY(nez_tile_int32, NezInt)
VD_OP(gtz, Gtz)
VD_UNARY(gtz_tile_int32, GtzInt)
VD_OP(gez, Gez)
VD_UNARY(gez_tile_int32, GezInt)
VD_OP(ltz, Ltz)
VD_UNARY(ltz_tile_int32, LtzInt)
VD_OP(lez, Lez)
VD_UNARY(lez_tile_int32, LezInt)
VD_UNARY(eqz_tile_uint16, EqzInt)
VD_UNARY(eqz_tile_uint32, EqzInt)
VD_UNARY(nez_tile_uint16, NezInt)
VD_UNARY(nez_tile_uint32, NezInt)

}  // namespace ckernel
