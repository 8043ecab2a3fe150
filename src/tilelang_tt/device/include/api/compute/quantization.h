// Numbers to 8-bit integers (in 32 bits) and back: value * scale + zero point, (integer + zero point) * scale. DST is 32 bits
// wide. The zero point, an fp32 number, is the init's; for dequant_tile it comes negated.
#pragma once

#include "vd/missing_names.h"
#include "vd/sfpu.h"

namespace ckernel {

#define VD_QUANT_INIT(NAME, OP, UNSIGNED)                                            \
    ALWI void NAME(uint32_t zero_point, VD_LINE) {                                   \
        const vd::SfpuCall call{vd::Sfpu::OP, 0, {}, {zero_point, UNSIGNED, 0}};     \
        vd_sfpu_init(&call, line);                                                   \
    }
#define VD_QUANT(NAME, OP)                                                                        \
    ALWI void NAME(uint32_t idst0, uint32_t idst1, uint32_t odst, VD_LINE) {                      \
        const vd::SfpuCall call{vd::Sfpu::OP, odst, {idst0, idst1, 0}, {}, DataFormat::Int32};    \
        vd_sfpu(&call, line);                                                                     \
    }

// Flags are bits of an fp32 number, which is 0 or not.
constexpr uint32_t kVdSigned = 0, kVdUnsigned = 0x3F800000;
VD_QUANT_INIT(quant_tile_init, Quant, kVdSigned)
VD_QUANT_INIT(quant_uint8_tile_init, Quant, kVdUnsigned)
VD_QUANT_INIT(requant_tile_init, Requant, kVdSigned)
VD_QUANT_INIT(requant_uint8_tile_init, Requant, kVdUnsigned)
VD_QUANT_INIT(dequant_tile_init, Dequant, kVdSigned)
VD_QUANT(quant_tile, Quant)
VD_QUANT(requant_tile, Requant)
VD_QUANT(dequant_tile, Dequant)

#undef VD_QUANT
#undef VD_QUANT_INIT

}  // namespace ckernel
