// TensorAccessorArgs and TensorAccessor for interleaved tensors.
#pragma once

#include "vd/kernel.h"

// Compile-time words of one tensor: configuration flags, then the aligned page size.
template <std::size_t CTA_OFFSET, std::size_t CRTA_OFFSET = 0>
struct TensorAccessorArgs {
    static constexpr uint32_t kSharded = 1;  // flag bits as in tensor_accessor::ArgConfig
    static constexpr uint32_t kIsDram = 2;
    static constexpr uint32_t flags = get_ct_arg<CTA_OFFSET>();
    static constexpr uint32_t page_size = get_ct_arg<CTA_OFFSET + 1>();
    static_assert((flags & kSharded) == 0, "unimplemented on the virtual device: sharded TensorAccessorArgs");
    static_assert(flags == kIsDram,
                  "unimplemented on the virtual device: TensorAccessorArgs other than interleaved DRAM");

    static constexpr std::size_t next_compile_time_args_offset() { return CTA_OFFSET + 2; }
    static constexpr std::size_t next_common_runtime_args_offset() { return CRTA_OFFSET; }
};

struct TensorAccessor {
    using vd_accessor = void;
    uint32_t base;
    uint32_t page_size;

    template <std::size_t CTA, std::size_t CRTA>
    TensorAccessor(const TensorAccessorArgs<CTA, CRTA>&, uint32_t base_addr)
        : base(base_addr), page_size(TensorAccessorArgs<CTA, CRTA>::page_size) {}
    template <std::size_t CTA, std::size_t CRTA>
    TensorAccessor(const TensorAccessorArgs<CTA, CRTA>&, uint32_t base_addr, uint32_t page_bytes)
        : base(base_addr), page_size(page_bytes) {}

    FORCE_INLINE uint64_t get_noc_addr(uint32_t page, uint32_t offset = 0, uint8_t = 0, VD_LINE) const {
        return vd_noc_addr_of_page(base, page_size, page, offset, line);
    }
    uint32_t get_aligned_page_size() const { return page_size; }
};
