// log(1 + x).
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_FAST_OP(log1p, Log1p, false)

}  // namespace ckernel
