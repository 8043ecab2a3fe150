// Vector-unit maximum and minimum of two DST tiles.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(binary_max_tile_init, BinaryMax)
ALWI void binary_max_tile(uint32_t idst0, uint32_t idst1, uint32_t odst, VectorMode mode = VectorMode::RC, VD_LINE) {
    vd::SfpuCall call{vd::Sfpu::BinaryMax, odst, {idst0, idst1, 0}, {}};
    call.mode = mode;
    vd_sfpu(&call, line);
}
VD_BINARY_OP(binary_max_int32, MaxInt)
VD_BINARY_OP(binary_max_uint32, MaxUint)
VD_INIT(binary_min_tile_init, BinaryMin)
ALWI void binary_min_tile(uint32_t idst0, uint32_t idst1, uint32_t odst, VectorMode mode = VectorMode::RC, VD_LINE) {
    vd::SfpuCall call{vd::Sfpu::BinaryMin, odst, {idst0, idst1, 0}, {}};
    call.mode = mode;
    vd_sfpu(&call, line);
}
VD_BINARY_OP(binary_min_int32, MinInt)
VD_BINARY_OP(binary_min_uint32, MinUint)

}  // namespace ckernel
