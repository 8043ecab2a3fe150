// Start-up of unary kernels, older names.
#pragma once

#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/tile_move_copy.h"
#include "vd/compute.h"

namespace ckernel {

// Both start the engine when nothing has, and set up the copy.
template <auto...>
ALWI void unary_op_init_common(uint32_t icb, uint32_t ocb, VD_LINE) {
    vd_unary_startup(icb, ocb, line);
}
template <auto...>
ALWI void init_sfpu(uint32_t icb, uint32_t ocb, VD_LINE) {
    vd_unary_startup(icb, ocb, line);
}

}  // namespace ckernel
