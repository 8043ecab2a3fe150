// A DST tile transposed in place.
#pragma once

#include "api/compute/common.h"
#include "vd/compute.h"

namespace ckernel {

template <bool is_32bit = false, bool transpose_of_faces = true, auto...>
ALWI void transpose_dest_init(uint32_t = 0, VD_LINE) {
    vd_transpose_dest_init(transpose_of_faces, is_32bit, line);
}
template <bool is_32bit = false, bool transpose_of_faces = true, auto...>
ALWI void transpose_dest(uint32_t idst, VD_LINE) {
    vd_transpose_dest(idst, transpose_of_faces, is_32bit, line);
}

}  // namespace ckernel
