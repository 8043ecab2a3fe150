// Random numbers between two bounds.
#pragma once

#include "vd/compute.h"

namespace ckernel {

ALWI void rand_tile_init(uint32_t seed = 0, uint32_t stream_id = 0, VD_LINE) {
    vd_random_init(static_cast<uint32_t>(vd::Sfpu::Rand), seed + stream_id * 0x9E3779B9u, line);
}
ALWI void rand_tile(uint32_t idst, uint32_t from, uint32_t scale, VD_LINE) { vd_rand_tile(idst, from, scale, line); }

}  // namespace ckernel
