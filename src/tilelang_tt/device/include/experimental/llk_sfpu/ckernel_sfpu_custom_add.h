#pragma once

#include "sfpi.h"

namespace ckernel::sfpu {

inline void my_add_tile_face(const uint32_t in0, const uint32_t in1, const uint32_t out) {
    for (uint32_t i = 0; i < vd::kVectorsOfFace; ++i) {
        const sfpi::vFloat a = sfpi::dst_reg[in0 * vd::kVectorsOfTile + i];
        const sfpi::vFloat b = sfpi::dst_reg[in1 * vd::kVectorsOfTile + i];
        sfpi::dst_reg[out * vd::kVectorsOfTile + i] = a + b;
    }
}

}  // namespace ckernel::sfpu
