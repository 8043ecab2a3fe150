// Gaussian error linear unit (erf form), its tanh form and its derivative.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_FAST_OP(gelu, Gelu, true)
VD_OP(gelu_tanh, GeluTanh)
VD_FAST_OP(gelu_derivative, GeluDerivative, false)
VD_PACK_OP(gelu_tanh, GeluTanh)
template <bool fast = true, auto...>
ALWI void gelu_tile_init_pack(VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Gelu, 0, {}, {}, DataFormat::Invalid, fast, true};
    vd_sfpu_init(&call, line);
}
template <bool fast = true, auto...>
ALWI void gelu_tile_pack(uint32_t idst, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Gelu, idst, {idst, 0, 0}, {}, DataFormat::Invalid, fast, true};
    vd_sfpu(&call, line);
}

}  // namespace ckernel
