// xIELU with one factor for positive and one for negative inputs.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP2(xielu, Xielu)

}  // namespace ckernel
