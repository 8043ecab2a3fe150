// x - tanh(x).
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP(tanhshrink, Tanhshrink)

}  // namespace ckernel
