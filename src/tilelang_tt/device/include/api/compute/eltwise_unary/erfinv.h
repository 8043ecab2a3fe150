// Inverse error function.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP(erfinv, Erfinv)

}  // namespace ckernel
