// Older names of transpose_dest.
#pragma once

#include "vd/compute.h"

namespace ckernel {

template <bool is_32bit = false, bool transpose_of_faces = true>
ALWI void transpose_wh_dest_init_short(uint32_t = 0, VD_LINE) {
    vd_transpose_dest_init(transpose_of_faces, is_32bit, line);
}
template <bool is_32bit = false, bool transpose_of_faces = true>
ALWI void transpose_wh_dest(uint32_t idst, VD_LINE) {
    vd_transpose_dest(idst, transpose_of_faces, is_32bit, line);
}

}  // namespace ckernel
