// One DST tile to another.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(copy_dest_values_init, CopyDest)
template <DataFormat format>
ALWI void copy_dest_values(uint32_t from, uint32_t to, VD_LINE) {
    constexpr bool words =
        format == DataFormat::Int32 || format == DataFormat::UInt32 || format == DataFormat::UInt16;
    vd_copy_dest(from, to, !words, line);
}
ALWI void copy_dest_values(uint32_t from, uint32_t to, VD_LINE) { vd_copy_dest(from, to, true, line); }

}  // namespace ckernel
