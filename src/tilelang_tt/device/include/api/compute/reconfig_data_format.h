// Change the formats of the source registers and of the packer. The (old, new) forms do nothing when both formats are
// equal.
#pragma once

#include "vd/compute.h"
#include "vd/missing.h"

namespace vd {

ALWI void reconfig_srca(uint32_t before, uint32_t after, uint32_t line) { vd_switch_srca(before, after, line); }
ALWI void reconfig_srcb(uint32_t before, uint32_t after, uint32_t line) { vd_switch_srcb(before, after, line); }

}  // namespace vd

namespace ckernel {

#define VD_RECONFIG_ONE(NAME, SOURCE)                                  \
    template <auto...>                                                 \
    ALWI void NAME(uint32_t cb, VD_LINE) {                             \
        vd_reconfig_##SOURCE(cb, line);                                \
    }                                                                  \
    template <auto...>                                                 \
    ALWI void NAME(uint32_t before, uint32_t after, VD_LINE) {         \
        vd::reconfig_##SOURCE(before, after, line);                    \
    }
#define VD_RECONFIG_BOTH(NAME)                                                                                \
    template <SrcOrder order = SrcOrder::Regular, auto...>                                                    \
    ALWI void NAME(uint32_t icb0, uint32_t icb1, VD_LINE) {                                                   \
        constexpr bool reverse = order == SrcOrder::Reverse;                                                  \
        vd_reconfig_srca(reverse ? icb1 : icb0, line);                                                        \
        vd_reconfig_srcb(reverse ? icb0 : icb1, line);                                                        \
    }                                                                                                         \
    template <SrcOrder order = SrcOrder::Regular, auto...>                                                    \
    ALWI void NAME(uint32_t before0, uint32_t after0, uint32_t before1, uint32_t after1, VD_LINE) {           \
        constexpr bool reverse = order == SrcOrder::Reverse;                                                  \
        vd::reconfig_srca(reverse ? before1 : before0, reverse ? after1 : after0, line);                      \
        vd::reconfig_srcb(reverse ? before0 : before1, reverse ? after0 : after1, line);                      \
    }

VD_RECONFIG_ONE(reconfig_data_format_srca, srca)
VD_RECONFIG_ONE(reconfig_data_format_srcb, srcb)
VD_RECONFIG_BOTH(reconfig_data_format)
// Format and tile shape: every tile here is 32x32, so the format is all there is.
VD_RECONFIG_ONE(reconfig_full_operand_srca, srca)
VD_RECONFIG_ONE(reconfig_full_operand_srcb, srcb)
VD_RECONFIG_BOTH(reconfig_full_operand)
VD_RECONFIG_ONE(reconfig_data_format_srca_skip_int8, srca)
VD_RECONFIG_ONE(reconfig_data_format_srcb_skip_int8, srcb)
VD_RECONFIG_BOTH(reconfig_data_format_skip_int8)

#undef VD_RECONFIG_BOTH
#undef VD_RECONFIG_ONE

// Tile shape alone changes nothing.
template <auto...>
ALWI void reconfig_tile_shape(vd::Anything, vd::Anything, vd::Anything = {}, vd::Anything = {}) {}
template <auto...>
ALWI void reconfig_tile_shape_srca(vd::Anything, vd::Anything = {}) {}
template <auto...>
ALWI void reconfig_tile_shape_srcb(vd::Anything, vd::Anything = {}) {}

template <auto...>
ALWI void pack_reconfig_data_format(uint32_t cb, VD_LINE) {
    vd_reconfig_pack(cb, line);
}
template <auto...>
ALWI void pack_reconfig_data_format(uint32_t before, uint32_t after, VD_LINE) {
    if (!vd_same_format(before, after, line)) {
        vd_reconfig_pack(after, line);
    }
}

}  // namespace ckernel
