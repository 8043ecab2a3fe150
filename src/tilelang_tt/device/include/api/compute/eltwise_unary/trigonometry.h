// Sines, cosines, tangents and their inverses.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP(sin, Sin)
VD_OP(cos, Cos)
VD_OP(tan, Tan)
VD_OP(sinh, Sinh)
VD_OP(cosh, Cosh)
VD_OP(asin, Asin)
VD_OP(acos, Acos)
VD_OP(atan, Atan)
VD_OP(asinh, Asinh)
VD_OP(acosh, Acosh)
VD_OP(atanh, Atanh)

}  // namespace ckernel
