// One DST tile to another.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(copy_dest_values_init, CopyDest)
template <auto...>
ALWI void copy_dest_values(uint32_t from, uint32_t to, VD_LINE) {
    vd_copy_dest(from, to, line);
}

}  // namespace ckernel
