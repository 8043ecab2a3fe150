// Matrix-engine add, sub, mul of two circular buffers.
#pragma once

#include "vd/compute.h"

#define VD_BINARY(NAME, OP, ACCUMULATE)                                                                               \
    ALWI void NAME##_init(uint32_t in0, uint32_t in1, bool acc_to_dest = ACCUMULATE, VD_LINE) {                       \
        vd_binary_init(static_cast<uint32_t>(vd::Binary::OP), 0, in0, in1, acc_to_dest, line);                        \
    }                                                                                                                 \
    ALWI void NAME##_tiles(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t idst, VD_LINE) {      \
        vd_binary_tile(static_cast<uint32_t>(vd::Binary::OP), 0, in0, in1, tile0, tile1, idst, line);                 \
    }                                                                                                                 \
    ALWI void NAME##_block(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t idst, uint32_t tiles, \
                           VD_LINE) {                                                                                 \
        for (uint32_t t = 0; t < tiles; ++t) {                                                                        \
            vd_binary_tile(static_cast<uint32_t>(vd::Binary::OP), 0, in0, in1, tile0 + t, tile1 + t, idst + t, line); \
        }                                                                                                             \
    }

VD_BINARY(add, Add, false)
VD_BINARY(sub, Sub, false)
VD_BINARY(mul, Mul, true)

#undef VD_BINARY
