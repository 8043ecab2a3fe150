// Matrix-engine add, sub, mul of two circular buffers, or of one and DST.
#pragma once

#include "api/compute/common.h"
#include "vd/compute.h"

namespace ckernel {

#define VD_BINARY_TILES(NAME, OP, ACCUMULATE)                                                                        \
    ALWI void NAME##_init(uint32_t in0, uint32_t in1, bool acc_to_dest = ACCUMULATE, VD_LINE) {                      \
        vd_binary_init(static_cast<uint32_t>(vd::Binary::OP), 0, in0, in1, acc_to_dest, line);                       \
    }                                                                                                                \
    ALWI void NAME##_tiles_init(uint32_t in0, uint32_t in1, bool acc_to_dest = ACCUMULATE, VD_LINE) {                \
        vd_binary_init(static_cast<uint32_t>(vd::Binary::OP), 0, in0, in1, acc_to_dest, line);                       \
    }                                                                                                                \
    template <auto...>                                                                                               \
    ALWI void NAME##_tiles(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t idst, VD_LINE) {     \
        vd_binary_tile(static_cast<uint32_t>(vd::Binary::OP), 0, in0, in1, tile0, tile1, idst, 0, line);             \
    }                                                                                                                \
    template <auto...>                                                                                               \
    ALWI void NAME##_block(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t idst,                \
                           uint32_t tiles, VD_LINE) {                                                                \
        for (uint32_t t = 0; t < tiles; ++t) {                                                                       \
            vd_binary_tile(static_cast<uint32_t>(vd::Binary::OP), 0, in0, in1, tile0 + t, tile1 + t, idst + t, 0,    \
                           line);                                                                                    \
        }                                                                                                            \
    }                                                                                                                \
    template <EltwiseBinaryReuseDestType reuse>                                                                      \
    ALWI void NAME##_reuse_dest_init(uint32_t cb, VD_LINE) {                                                         \
        vd_reuse_init(static_cast<uint32_t>(vd::Binary::OP), static_cast<uint32_t>(reuse), cb, line);                \
    }                                                                                                                \
    template <EltwiseBinaryReuseDestType reuse, auto...>                                                             \
    ALWI void NAME##_reuse_dest_tiles(uint32_t cb, uint32_t tile, uint32_t idst, VD_LINE) {                          \
        vd_reuse_tile(static_cast<uint32_t>(vd::Binary::OP), static_cast<uint32_t>(reuse), cb, tile, idst, line);    \
    }

VD_BINARY_TILES(add, Add, false)
VD_BINARY_TILES(sub, Sub, false)
VD_BINARY_TILES(mul, Mul, true)

#undef VD_BINARY_TILES

template <bool full_init, EltwiseBinaryType type>
ALWI void binary_tiles_init(uint32_t in0, uint32_t in1, bool acc_to_dest = false, VD_LINE) {
    vd_binary_init(vd::number(type), 0, in0, in1, acc_to_dest, line);
}
template <EltwiseBinaryType type, EltwiseBinaryReuseDestType reuse>
ALWI void binary_reuse_dest_init(uint32_t cb, VD_LINE) {
    vd_reuse_init(vd::number(type), static_cast<uint32_t>(reuse), cb, line);
}
template <EltwiseBinaryType type, EltwiseBinaryReuseDestType reuse, auto...>
ALWI void binary_reuse_dest_tiles(uint32_t cb, uint32_t tile, uint32_t idst, VD_LINE) {
    vd_reuse_tile(vd::number(type), static_cast<uint32_t>(reuse), cb, tile, idst, line);
}

// Older names.
ALWI void binary_op_init_common(uint32_t icb0, uint32_t icb1, uint32_t ocb, VD_LINE) {
    vd_startup(icb0, icb1, ocb, false, line);
}
template <EltwiseBinaryType type = EltwiseBinaryType::ELWADD,
          EltwiseBinaryReuseDestType reuse = EltwiseBinaryReuseDestType::NONE>
ALWI void binary_dest_reuse_tiles_init(uint32_t cb, VD_LINE) {
    vd_reuse_init(vd::number(type), static_cast<uint32_t>(reuse), cb, line);
}
template <EltwiseBinaryType type = EltwiseBinaryType::ELWADD,
          EltwiseBinaryReuseDestType reuse = EltwiseBinaryReuseDestType::NONE>
ALWI void binary_dest_reuse_tiles(uint32_t cb, uint32_t tile, uint32_t idst, VD_LINE) {
    vd_reuse_tile(vd::number(type), static_cast<uint32_t>(reuse), cb, tile, idst, line);
}

}  // namespace ckernel
