// Change the formats of the source registers and of the packer. The (old, new) forms do nothing when both formats are
// equal.
#pragma once

#include "vd/compute.h"

namespace vd {

ALWI void reconfig_srca(uint32_t before, uint32_t after, uint32_t line) {
    if (!vd_same_format(before, after, line)) {
        vd_reconfig_srca(after, line);
    }
}
ALWI void reconfig_srcb(uint32_t before, uint32_t after, uint32_t line) {
    if (!vd_same_format(before, after, line)) {
        vd_reconfig_srcb(after, line);
    }
}

}  // namespace vd

ALWI void reconfig_data_format_srca(uint32_t cb, VD_LINE) { vd_reconfig_srca(cb, line); }
ALWI void reconfig_data_format_srca(uint32_t before, uint32_t after, VD_LINE) {
    vd::reconfig_srca(before, after, line);
}
ALWI void reconfig_data_format_srcb(uint32_t cb, VD_LINE) { vd_reconfig_srcb(cb, line); }
ALWI void reconfig_data_format_srcb(uint32_t before, uint32_t after, VD_LINE) {
    vd::reconfig_srcb(before, after, line);
}

template <SrcOrder src_order = SrcOrder::Regular>
ALWI void reconfig_data_format(uint32_t icb0, uint32_t icb1, VD_LINE) {
    constexpr bool reverse = src_order == SrcOrder::Reverse;
    vd_reconfig_srca(reverse ? icb1 : icb0, line);
    vd_reconfig_srcb(reverse ? icb0 : icb1, line);
}
template <SrcOrder src_order = SrcOrder::Regular>
ALWI void reconfig_data_format(uint32_t before0, uint32_t after0, uint32_t before1, uint32_t after1, VD_LINE) {
    constexpr bool reverse = src_order == SrcOrder::Reverse;
    vd::reconfig_srca(reverse ? before1 : before0, reverse ? after1 : after0, line);
    vd::reconfig_srcb(reverse ? before0 : before1, reverse ? after0 : after1, line);
}

template <bool is_tile_dim_reconfig_en = false>
ALWI void pack_reconfig_data_format(uint32_t cb, VD_LINE) {
    vd_reconfig_pack(cb, line);
}
template <bool is_tile_dim_reconfig_en = false>
ALWI void pack_reconfig_data_format(uint32_t before, uint32_t after, VD_LINE) {
    if (!vd_same_format(before, after, line)) {
        vd_reconfig_pack(after, line);
    }
}
