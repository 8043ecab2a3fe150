// 1 / x. The flag is the legacy variant; init and call must agree on it.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

enum class ReciprocalDestAcc { BF16, FP32 };
enum class ReciprocalApproxMode { Default, Precise, Approximate };

template <auto legacy = true, auto...>
ALWI void recip_tile_init(VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Recip, 0, {}, {}, DataFormat::Invalid, vd::flag(legacy)};
    vd_sfpu_init(&call, line);
}
template <auto legacy = true, auto...>
ALWI void recip_tile(uint32_t idst, VectorMode mode = VectorMode::RC, VD_LINE) {
    const vd::SfpuCall call{
        vd::Sfpu::Recip, idst, {idst, 0, 0}, {}, DataFormat::Invalid, vd::flag(legacy), false, mode};
    vd_sfpu(&call, line);
}

}  // namespace ckernel
