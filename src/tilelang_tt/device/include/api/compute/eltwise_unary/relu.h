// max(x, 0) and its bounded and leaky forms.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_OP(relu, Relu)
VD_UNARY(relu_tile_int32, ReluInt)
VD_OP1(relu_max, ReluMax)
VD_UNARY1(relu_max_tile_int32, ReluMaxInt)
VD_UNARY1(relu_max_tile_uint32, ReluMaxUint)
VD_UNARY1(relu_max_tile_uint16, ReluMaxUint)
VD_OP1(relu_min, ReluMin)
VD_UNARY1(relu_min_tile_int32, ReluMinInt)
VD_UNARY1(relu_min_tile_uint32, ReluMinUint)
VD_UNARY1(relu_min_tile_uint16, ReluMinUint)
VD_PACK_INIT(relu_max_tile_init_pack, ReluMax)
template <auto...>
ALWI void relu_max_tile_pack(uint32_t idst, uint32_t bound, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::ReluMax, idst, {idst, 0, 0}, {bound, 0, 0}, DataFormat::Invalid, false, true};
    vd_sfpu(&call, line);
}
VD_INIT(leaky_relu_tile_init, LeakyRelu)
template <auto...>
ALWI void leaky_relu_tile(uint32_t idst, uint32_t slope = 0, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::LeakyRelu, idst, {idst, 0, 0}, {slope, 0, 0}};
    vd_sfpu(&call, line);
}

}  // namespace ckernel
