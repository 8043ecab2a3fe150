// Circular buffer calls of compute kernels: wait and pop belong to unpack, reserve and push to pack.
#pragma once

#include "vd/compute.h"
#include "vd/missing_names.h"

namespace ckernel {

// Tiles that were waited for, as bytes of L1.
ALWI uint32_t get_tile_address(uint32_t cb, uint32_t tile, VD_LINE) { return vd_tile_address(cb, tile, line); }
ALWI uint32_t get_tile_l1_byte_address(uint32_t cb, uint32_t tile, VD_LINE) { return vd_tile_address(cb, tile, line); }
ALWI uint32_t read_tile_value(uint32_t cb, uint32_t tile, uint32_t element, VD_LINE) {
    return reinterpret_cast<const volatile uint32_t*>(static_cast<uintptr_t>(vd_tile_address(cb, tile, line)))[element];
}

}  // namespace ckernel
