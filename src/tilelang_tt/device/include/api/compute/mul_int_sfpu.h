// Integer product of two DST tiles.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

template <DataFormat format, auto...>
ALWI void mul_int_tile_init(VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::MulInt, 0, {}, {}, format};
    vd_sfpu_init(&call, line);
}
VD_INT_BINARY(mul_int_tile, MulInt)

}  // namespace ckernel
