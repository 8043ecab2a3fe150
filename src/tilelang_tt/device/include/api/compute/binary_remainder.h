// Remainder of two DST tiles with the sign of the second.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_BINARY_OP(remainder_binary, BinaryRemainder)
VD_BINARY_OP(remainder_int32, BinaryRemainderInt)
VD_BINARY_OP(remainder_uint32, BinaryRemainderUint)

}  // namespace ckernel
