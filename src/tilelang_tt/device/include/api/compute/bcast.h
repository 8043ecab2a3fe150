// Matrix-engine add, sub, mul with the second operand broadcast: row 0 downwards, column 0 across, or element [0,0].
#pragma once

#include "vd/compute.h"

#define VD_BCAST(NAME, OP, DIM, KIND)                                                                              \
    ALWI void NAME##_bcast_##DIM##_init(uint32_t in0, uint32_t in1, uint32_t line = __builtin_LINE()) {            \
        vd_binary_init(static_cast<uint32_t>(vd::Binary::OP), static_cast<uint32_t>(vd::Broadcast::KIND), in0, in1, \
                       false, line);                                                                               \
    }                                                                                                              \
    ALWI void NAME##_tiles_bcast_##DIM(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t idst,  \
                                       uint32_t line = __builtin_LINE()) {                                         \
        vd_binary_tile(static_cast<uint32_t>(vd::Binary::OP), static_cast<uint32_t>(vd::Broadcast::KIND), in0, in1, \
                       tile0, tile1, idst, line);                                                                  \
    }
#define VD_BCAST_DIMS(NAME, OP)        \
    VD_BCAST(NAME, OP, rows, Rows)     \
    VD_BCAST(NAME, OP, cols, Cols)     \
    VD_BCAST(NAME, OP, scalar, Scalar)

VD_BCAST_DIMS(add, Add)
VD_BCAST_DIMS(sub, Sub)
VD_BCAST_DIMS(mul, Mul)

#undef VD_BCAST_DIMS
#undef VD_BCAST
