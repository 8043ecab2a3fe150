// Elements become zero by chance, or are scaled.
#pragma once

#include "vd/compute.h"

namespace ckernel {

ALWI void dropout_kernel_init(uint32_t seed = 0, VD_LINE) {
    vd_random_init(static_cast<uint32_t>(vd::Sfpu::Dropout), seed, line);
}
ALWI void dropout_tile(uint32_t idst, uint32_t probability, uint32_t scale_factor, VD_LINE) {
    vd_dropout_tile(idst, probability, scale_factor, line);
}

}  // namespace ckernel
