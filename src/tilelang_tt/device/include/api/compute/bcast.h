// Matrix-engine add, sub, mul with the second operand broadcast: row 0 downwards, column 0 across, or element [0,0].
#pragma once

#include "vd/compute.h"

#define VD_BCAST_INIT(NAME, OP, DIM, KIND)                                                                          \
    ALWI void NAME##_bcast_##DIM##_init(uint32_t in0, uint32_t in1, VD_LINE) {                                      \
        vd_binary_init(static_cast<uint32_t>(vd::Binary::OP), static_cast<uint32_t>(vd::Broadcast::KIND), in0, in1, \
                       false, line);                                                                                \
    }
#define VD_BCAST(NAME, OP, DIM, KIND)                                                                               \
    VD_BCAST_INIT(NAME, OP, DIM, KIND)                                                                              \
    ALWI void NAME##_tiles_bcast_##DIM(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t idst,   \
                                       VD_LINE) {                                                                   \
        vd_binary_tile(static_cast<uint32_t>(vd::Binary::OP), static_cast<uint32_t>(vd::Broadcast::KIND), in0, in1, \
                       tile0, tile1, idst, line);                                                                   \
    }
// The row forms may name the row to replicate; only row 0 is implemented.
#define VD_BCAST_ROWS(NAME, OP)                                                                                     \
    VD_BCAST_INIT(NAME, OP, rows, Rows)                                                                             \
    ALWI void NAME##_tiles_bcast_rows(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t idst,    \
                                      uint32_t row = 0, VD_LINE) {                                                  \
        if (row != 0) vd_unimplemented(#NAME "_tiles_bcast_rows of a row other than 0", line);                      \
        vd_binary_tile(static_cast<uint32_t>(vd::Binary::OP), static_cast<uint32_t>(vd::Broadcast::Rows), in0, in1, \
                       tile0, tile1, idst, line);                                                                   \
    }
#define VD_BCAST_DIMS(NAME, OP)    \
    VD_BCAST_ROWS(NAME, OP)        \
    VD_BCAST(NAME, OP, cols, Cols) \
    VD_BCAST(NAME, OP, scalar, Scalar)

VD_BCAST_DIMS(add, Add)
VD_BCAST_DIMS(sub, Sub)
VD_BCAST_DIMS(mul, Mul)

#undef VD_BCAST_DIMS
#undef VD_BCAST_ROWS
#undef VD_BCAST
#undef VD_BCAST_INIT
