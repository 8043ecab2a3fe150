// Tiles to row-major pages on the way in; pack_untilize is the newer form.
#pragma once

#include "api/compute/common.h"
#include "vd/compute.h"

namespace ckernel {

template <auto...>
ALWI void untilize_init(uint32_t icb, VD_LINE) {
    vd_untilize_init(icb, line);
}
template <uint32_t block_ct_dim = 1, auto...>
ALWI void untilize_block(uint32_t icb, uint32_t full_ct_dim, uint32_t ocb, VD_LINE) {
    vd_untilize_block(icb, full_ct_dim, ocb, line);
}
template <auto...>
ALWI void untilize_uninit(uint32_t icb, VD_LINE) {
    vd_untilize_uninit(icb, line);
}

}  // namespace ckernel
