// Remainder of two DST tiles with the sign of the first.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_BINARY_OP(fmod_binary, BinaryFmod)
VD_BINARY_OP(fmod_int32, BinaryFmodInt)

}  // namespace ckernel
