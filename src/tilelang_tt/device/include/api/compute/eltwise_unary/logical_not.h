// 1 where x is zero, else 0.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(logical_not_tile_init, LogicalNot)
template <DataFormat format, auto...>
ALWI void logical_not_tile(uint32_t idst, VD_LINE) {
    constexpr bool whole = format == DataFormat::Int32 || format == DataFormat::UInt32 || format == DataFormat::UInt16;
    const vd::SfpuCall call{whole ? vd::Sfpu::LogicalNotInt : vd::Sfpu::LogicalNot, idst, {idst, 0, 0}, {}, format};
    vd_sfpu(&call, line);
}

}  // namespace ckernel
