// The one-time start-up of a compute kernel, before any other compute call.
#pragma once

#include "api/compute/common.h"
#include "vd/compute.h"
#include "vd/missing.h"

namespace ckernel {

template <SrcOrder src_order = SrcOrder::Regular>
ALWI void compute_kernel_hw_startup(uint32_t icb0, uint32_t icb1, uint32_t ocb, VD_LINE) {
    constexpr bool reverse = src_order == SrcOrder::Reverse;
    vd_startup(reverse ? icb1 : icb0, reverse ? icb0 : icb1, ocb, reverse, line);
}
ALWI void compute_kernel_hw_startup(uint32_t icb, uint32_t ocb, VD_LINE) { vd_startup(icb, icb, ocb, false, line); }

VD_MISSING(enable_fp32_dest_acc)
VD_MISSING(disable_fp32_dest_acc)

VD_MISSING(set_fp32_dest_acc)
VD_MISSING(restore_fp32_dest_acc)

}  // namespace ckernel
