// x, or param0 * x below zero.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP1(prelu, Prelu)

}  // namespace ckernel
