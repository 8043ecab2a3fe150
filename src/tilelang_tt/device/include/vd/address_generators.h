// The older address generators that kernels still use: interleaved tensors without an accessor.
#pragma once

#include "api/tensor/tensor_accessor.h"

template <bool DRAM>
struct InterleavedAddrGen {
    static constexpr bool is_dram = DRAM;
    uint32_t bank_base_address;
    uint32_t page_size;

    FORCE_INLINE uint64_t get_noc_addr(uint32_t page, uint32_t offset = 0, uint8_t = noc_index, VD_LINE) const {
        const uint32_t align = DRAM ? DRAM_ALIGNMENT : L1_ALIGNMENT;
        return vd_noc_addr_of_page(bank_base_address, (page_size + align - 1) / align * align, page, offset, line);
    }
};

template <bool DRAM>
struct InterleavedPow2AddrGen {
    static constexpr bool is_dram = DRAM;
    uint32_t bank_base_address;
    uint32_t log_base_2_of_page_size;

    uint32_t get_aligned_page_size() const { return 1u << log_base_2_of_page_size; }
    FORCE_INLINE uint64_t get_noc_addr(uint32_t page, uint32_t offset = 0, uint8_t = noc_index, VD_LINE) const {
        return vd_noc_addr_of_page(bank_base_address, get_aligned_page_size(), page, offset, line);
    }
};

template <bool DRAM>
struct InterleavedPow2AddrGenFast : InterleavedPow2AddrGen<DRAM> {};

template <bool DRAM, uint32_t tile_hw = 1024>
struct InterleavedAddrGenFast {
    static constexpr bool is_dram = DRAM;
    uint32_t bank_base_address;
    uint32_t page_size;
    DataFormat data_format;

    FORCE_INLINE uint64_t get_noc_addr(uint32_t page, uint32_t offset = 0, uint8_t = noc_index, VD_LINE) const {
        return vd_noc_addr_of_page(bank_base_address, page_size, page, offset, line);
    }
};
