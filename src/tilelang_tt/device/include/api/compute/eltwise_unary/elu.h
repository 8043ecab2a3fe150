// Exponential linear unit: param0 * (e^x - 1) below zero.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP1(elu, Elu)

}  // namespace ckernel
