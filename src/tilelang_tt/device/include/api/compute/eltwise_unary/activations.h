// Piecewise activations.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP(hardsigmoid, Hardsigmoid)
VD_PACK_OP(hardsigmoid, Hardsigmoid)
VD_OP(softsign, Softsign)
VD_OP2(celu, Celu)
VD_OP1(softshrink, Softshrink)
VD_OP1(hardshrink, Hardshrink)

}  // namespace ckernel
