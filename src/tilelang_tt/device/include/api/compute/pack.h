// Packer: DST to circular buffer.
#pragma once

#include "vd/compute.h"
#include "vd/missing.h"

namespace ckernel {

template <bool out_of_order_output = false, auto...>
ALWI void pack_tile(uint32_t idst, uint32_t cb, uint32_t output_tile_index = 0, VD_LINE) {
    vd_pack_tile(idst, cb, out_of_order_output, output_tile_index, line);
}
template <auto...>
ALWI void pack_block(uint32_t idst, uint32_t cb, uint32_t tiles, VD_LINE) {
    for (uint32_t tile = 0; tile < tiles; ++tile) {
        vd_pack_tile(idst + tile, cb, false, 0, line);
    }
}
template <auto...>
ALWI void pack_tile_block(uint32_t idst, uint32_t cb, uint32_t tiles, VD_LINE) {
    for (uint32_t tile = 0; tile < tiles; ++tile) {
        vd_pack_tile(idst + tile, cb, false, 0, line);
    }
}
ALWI void pack_reconfig_l1_acc(uint32_t enable, VD_LINE) { vd_pack_l1_acc(enable, line); }
template <auto...>
ALWI void pack_init(uint32_t cb, VD_LINE) {
    vd_reconfig_pack(cb, line);
}
ALWI void pack_relu_config(const ReluConfig& config, VD_LINE) {
    vd_pack_relu(static_cast<uint32_t>(config.mode), config.threshold, line);
}

VD_MISSING(pack_rows)
VD_MISSING(pack_rows_init)
VD_MISSING(pack_rows_uninit)

}  // namespace ckernel
