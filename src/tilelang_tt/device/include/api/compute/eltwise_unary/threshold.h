// x above param0, else param1.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP2(threshold, Threshold)

}  // namespace ckernel
