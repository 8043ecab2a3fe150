#pragma once

#include "sfpi.h"

namespace ckernel::sfpu {

// 3 t^2 - 2 t^3 of t, the way from the first edge to the second, cut off at both.
inline void smoothstep_tile_face(float edge0, float, float one_over_width) {
    for (uint32_t i = 0; i < vd::kVectorsOfFace; ++i) {
        const sfpi::vFloat x = sfpi::dst_reg[i];
        const sfpi::vFloat t = sfpi::clamp((x - edge0) * one_over_width, 0.0f, 1.0f);
        sfpi::dst_reg[i] = t * t * (3.0f - 2.0f * t);
    }
}

}  // namespace ckernel::sfpu
