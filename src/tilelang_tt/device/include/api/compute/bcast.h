// Matrix-engine add, sub, mul with the second operand broadcast: row 0 downwards, column 0 across, or element [0,0].
#pragma once

#include "api/compute/common.h"
#include "vd/compute.h"

namespace ckernel {

template <EltwiseBinaryType type, BroadcastType dim>
ALWI void bcast_init(uint32_t in0, uint32_t in1, VD_LINE) {
    vd_binary_init(vd::number(type), vd::number(dim), in0, in1, false, line);
}
// The row forms may name the row to replicate.
template <EltwiseBinaryType type, BroadcastType dim, auto...>
ALWI void any_tiles_bcast(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t idst, uint32_t row = 0,
                          VD_LINE) {
    vd_binary_tile(vd::number(type), vd::number(dim), in0, in1, tile0, tile1, idst, row, line);
}

#define VD_BCAST_INIT(NAME, TYPE, KIND)                                                                               \
    ALWI void NAME(uint32_t in0, uint32_t in1, VD_LINE) {                                                             \
        vd_binary_init(vd::number(EltwiseBinaryType::TYPE), vd::number(BroadcastType::KIND), in0, in1, false, line);  \
    }
#define VD_BCAST(NAME, TYPE, DIM, KIND)                                                                               \
    VD_BCAST_INIT(NAME##_bcast_##DIM##_init, TYPE, KIND)                                                              \
    template <auto...>                                                                                                \
    ALWI void NAME##_tiles_bcast_##DIM(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t idst,     \
                                       VD_LINE) {                                                                     \
        vd_binary_tile(vd::number(EltwiseBinaryType::TYPE), vd::number(BroadcastType::KIND), in0, in1, tile0, tile1,  \
                       idst, 0, line);                                                                                \
    }
#define VD_BCAST_OP(NAME, TYPE)                                                                                       \
    VD_BCAST(NAME, TYPE, cols, COL)                                                                                   \
    VD_BCAST(NAME, TYPE, scalar, SCALAR)                                                                              \
    VD_BCAST_INIT(NAME##_bcast_rows_init, TYPE, ROW)                                                                  \
    VD_BCAST_INIT(NAME##_bcast_rows_init_short, TYPE, ROW)                                                            \
    VD_BCAST_INIT(NAME##_bcast_cols_init_short, TYPE, COL)                                                            \
    template <auto...>                                                                                                \
    ALWI void NAME##_tiles_bcast_rows(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t idst,      \
                                      uint32_t row = 0, VD_LINE) {                                                    \
        vd_binary_tile(vd::number(EltwiseBinaryType::TYPE), vd::number(BroadcastType::ROW), in0, in1, tile0, tile1,   \
                       idst, row, line);                                                                              \
    }                                                                                                                 \
    template <BroadcastType dim, auto...>                                                                             \
    ALWI void NAME##_tiles_bcast(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t idst,           \
                                 uint32_t row = 0, VD_LINE) {                                                         \
        vd_binary_tile(vd::number(EltwiseBinaryType::TYPE), vd::number(dim), in0, in1, tile0, tile1, idst, row,       \
                       line);                                                                                         \
    }

VD_BCAST_OP(add, ELWADD)
VD_BCAST_OP(sub, ELWSUB)
VD_BCAST_OP(mul, ELWMUL)
// The older name of the scalar form's init is not the same for all three.
VD_BCAST_INIT(add_bcast_scalar_init_short, ELWADD, SCALAR)
VD_BCAST_INIT(sub_tiles_bcast_scalar_init_short, ELWSUB, SCALAR)
VD_BCAST_INIT(mul_tiles_bcast_scalar_init_short, ELWMUL, SCALAR)

#undef VD_BCAST_OP
#undef VD_BCAST
#undef VD_BCAST_INIT

// One operand, broadcast on its way to DST.
template <BroadcastType dim, auto...>
ALWI void unary_bcast_init(uint32_t cb, VD_LINE) {
    vd_unary_bcast_init(vd::number(dim), cb, line);
}
template <BroadcastType dim, auto...>
ALWI void unary_bcast_init(uint32_t icb, uint32_t ocb, VD_LINE) {
    vd_startup(icb, icb, ocb, false, line);
    vd_unary_bcast_init(vd::number(dim), icb, line);
}
template <BroadcastType dim, auto...>
ALWI void unary_bcast(uint32_t cb, uint32_t tile, uint32_t idst, VD_LINE) {
    vd_unary_bcast(vd::number(dim), cb, tile, idst, line);
}
template <BroadcastType dim>
ALWI void unary_bcast_uninit(uint32_t cb, VD_LINE) {
    vd_unary_bcast_uninit(cb, line);
}

// The older start-up of a kernel whose first operation is a broadcast.
template <EltwiseBinaryType type, BroadcastType dim, auto...>
ALWI void init_bcast(uint32_t icb0, uint32_t icb1, uint32_t ocb, VD_LINE) {
    vd_startup(icb0, icb1, ocb, false, line);
    vd_binary_init(vd::number(type), vd::number(dim), icb0, icb1, false, line);
}

}  // namespace ckernel
