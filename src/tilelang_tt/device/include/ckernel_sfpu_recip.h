// The reciprocal of SFPI code: its init loads what Newton's steps need.
#pragma once

#include "vd/compute.h"

namespace ckernel::sfpu {

template <bool approximation_mode = false>
ALWI void sfpu_reciprocal_init(VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Recip, 0, {}, {}, DataFormat::Invalid, false};
    vd_sfpu_init(&call, line);
}

}  // namespace ckernel::sfpu
