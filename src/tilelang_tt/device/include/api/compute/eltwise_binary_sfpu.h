// Vector-unit operations on two DST tiles.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

// These three truncate into a 16-bit DST unless told to round.
#define VD_ROUNDED_BINARY(NAME, OP)                                                              \
    template <auto rounding = DstRoundingMode::Default, auto...>                                 \
    ALWI void NAME(uint32_t idst0, uint32_t idst1, uint32_t odst, VD_LINE) {                     \
        const vd::SfpuCall call{                                                                 \
            vd::Sfpu::OP, odst, {idst0, idst1, 0}, {static_cast<uint32_t>(rounding), 0, 0}};      \
        vd_sfpu(&call, line);                                                                    \
    }

VD_BINARY_OP(mul_binary, BinaryMul)
VD_BINARY_OP(div_binary, BinaryDiv)
VD_BINARY_OP(power_binary, BinaryPower)
VD_BINARY_OP(eq_binary, BinaryEq)
VD_BINARY_OP(ne_binary, BinaryNe)
VD_BINARY_OP(lt_binary, BinaryLt)
VD_BINARY_OP(gt_binary, BinaryGt)
VD_BINARY_OP(le_binary, BinaryLe)
VD_BINARY_OP(ge_binary, BinaryGe)
VD_INIT(add_binary_tile_init, BinaryAdd)
VD_ROUNDED_BINARY(add_binary_tile, BinaryAdd)
VD_INIT(sub_binary_tile_init, BinarySub)
VD_ROUNDED_BINARY(sub_binary_tile, BinarySub)
VD_INIT(rsub_binary_tile_init, BinaryRsub)
VD_ROUNDED_BINARY(rsub_binary_tile, BinaryRsub)

#undef VD_ROUNDED_BINARY

}  // namespace ckernel
