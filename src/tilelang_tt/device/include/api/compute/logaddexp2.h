// log2(2^a + 2^b).
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_BINARY_OP(logaddexp2_binary, Logaddexp2)

}  // namespace ckernel
