// Cube root.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP(cbrt, Cbrt)

}  // namespace ckernel
