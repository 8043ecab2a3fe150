// Sum, average or maximum over rows, columns or whole tiles, times a scaler tile. Results accumulate in DST.
#pragma once

#include "api/compute/common.h"
#include "vd/compute.h"
#include "vd/missing.h"

namespace ckernel {

template <PoolType pool, ReduceDim dim, auto...>
ALWI void reduce_init(uint32_t icb, uint32_t icb_scaler, uint32_t ocb, VD_LINE) {
    vd_reduce_init(static_cast<uint32_t>(pool), static_cast<uint32_t>(dim), icb, icb_scaler, ocb, line);
}
template <PoolType pool, ReduceDim dim, auto...>
ALWI void reduce_tile(uint32_t icb, uint32_t icb_scaler, uint32_t tile, uint32_t scaler_tile, uint32_t idst, VD_LINE) {
    vd_reduce_tile(static_cast<uint32_t>(pool), static_cast<uint32_t>(dim), icb, icb_scaler, tile, scaler_tile, idst,
                   line);
}
template <PoolType pool, ReduceDim dim, auto...>
ALWI void reduce_block(uint32_t icb, uint32_t icb_scaler, uint32_t first_tile, uint32_t scaler_tile,
                       uint32_t first_dst, uint32_t tiles, VD_LINE) {
    for (uint32_t t = 0; t < tiles; ++t) {
        vd_reduce_tile(static_cast<uint32_t>(pool), static_cast<uint32_t>(dim), icb, icb_scaler, first_tile + t,
                       scaler_tile, first_dst + t, line);
    }
}
ALWI void reduce_uninit(uint32_t = 0, VD_LINE) { vd_reduce_uninit(line); }

VD_MISSING(reduce_tile_math)

}  // namespace ckernel
