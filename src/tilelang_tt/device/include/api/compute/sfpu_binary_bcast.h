// A DST tile op column 0 (or row 0) of another, in place.
#pragma once

#include "vd/sfpu.h"
#include "vd/missing_names.h"

namespace ckernel {

#define VD_SFPU_BCAST(NAME, OP, COLUMN)                                                  \
    template <auto...>                                                                   \
    ALWI void NAME(uint32_t data, uint32_t vector, VD_LINE) {                            \
        vd_bcast_in_dst(static_cast<uint32_t>(vd::Binary::OP), COLUMN, data, vector, line); \
    }

VD_INIT(sfpu_bcast_col_init, BcastCol)
VD_INIT(sfpu_add_bcast_col_init, BcastCol)
VD_SFPU_BCAST(sfpu_add_bcast_col, Add, true)
VD_INIT(sfpu_sub_bcast_col_init, BcastCol)
VD_SFPU_BCAST(sfpu_sub_bcast_col, Sub, true)
VD_INIT(sfpu_mul_bcast_col_init, BcastCol)
VD_SFPU_BCAST(sfpu_mul_bcast_col, Mul, true)
VD_INIT(sfpu_bcast_row_init, BcastRow)
VD_INIT(sfpu_add_bcast_row_init, BcastRow)
VD_SFPU_BCAST(sfpu_add_bcast_row, Add, false)
VD_INIT(sfpu_sub_bcast_row_init, BcastRow)
VD_SFPU_BCAST(sfpu_sub_bcast_row, Sub, false)
VD_INIT(sfpu_mul_bcast_row_init, BcastRow)
VD_SFPU_BCAST(sfpu_mul_bcast_row, Mul, false)

#undef VD_SFPU_BCAST

template <BroadcastType dim>
ALWI void sfpu_bcast_init(VD_LINE) {
    static_assert(dim == BroadcastType::COL || dim == BroadcastType::ROW);
    const vd::SfpuCall call{dim == BroadcastType::COL ? vd::Sfpu::BcastCol : vd::Sfpu::BcastRow, 0, {}, {}};
    vd_sfpu_init(&call, line);
}
template <BroadcastType dim, EltwiseBinaryType op, auto...>
ALWI void sfpu_bcast(uint32_t data, uint32_t vector, VD_LINE) {
    vd_bcast_in_dst(vd::number(op), dim == BroadcastType::COL, data, vector, line);
}

}  // namespace ckernel
