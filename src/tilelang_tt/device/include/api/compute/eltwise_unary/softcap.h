// beta * tanh(x / beta).
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP2(softcap, Softcap)

}  // namespace ckernel
