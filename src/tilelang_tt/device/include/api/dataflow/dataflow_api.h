// Data movement: arguments, circular buffers, tensors, NoC transfers and their barriers.
#pragma once

#include "vd/kernel.h"
#include "vd/tensor_accessor.h"

#define MEM_ZEROS_BASE VD_MEM_ZEROS_BASE
#define MEM_ZEROS_SIZE 512

constexpr uint8_t noc_index = VD_NOC_INDEX;

// Bits of a NoC address: 36 of local address, then 6 of x, then 6 of y.
constexpr uint32_t NOC_LOCAL_BITS = 36;
constexpr uint32_t NOC_NODE_BITS = 6;

FORCE_INLINE uint32_t get_write_ptr(uint32_t cb, VD_LINE) { return vd_cb_write_ptr(cb, line); }
FORCE_INLINE uint32_t get_read_ptr(uint32_t cb, VD_LINE) { return vd_cb_read_ptr(cb, line); }

FORCE_INLINE bool cb_pages_reservable_at_back(int32_t cb, int32_t pages, VD_LINE) {
    return vd_cb_reservable(static_cast<uint32_t>(cb), static_cast<uint32_t>(pages), line);
}
FORCE_INLINE bool cb_pages_available_at_front(int32_t cb, int32_t pages, VD_LINE) {
    return vd_cb_available(static_cast<uint32_t>(cb), static_cast<uint32_t>(pages), line);
}

FORCE_INLINE uint64_t get_noc_addr(uint32_t x, uint32_t y, uint32_t addr, uint8_t = noc_index) {
    return (static_cast<uint64_t>(y) << (NOC_LOCAL_BITS + NOC_NODE_BITS)) |
           (static_cast<uint64_t>(x) << NOC_LOCAL_BITS) | addr;
}
FORCE_INLINE uint64_t get_noc_addr(uint32_t addr, uint8_t = noc_index) { return vd_noc_addr_local(addr); }
template <typename Accessor, typename = typename Accessor::vd_accessor>
FORCE_INLINE uint64_t get_noc_addr(uint32_t page, const Accessor& accessor, uint32_t offset = 0,
                                   uint8_t noc = noc_index, VD_LINE) {
    return accessor.get_noc_addr(page, offset, noc, line);
}

template <uint32_t max_page_size = 0, bool enable_noc_tracing = true>
FORCE_INLINE void noc_async_read(uint64_t source, uint32_t l1_addr, uint32_t bytes, uint8_t = noc_index, uint32_t = 0,
                                 VD_LINE) {
    vd_noc_read(source, l1_addr, bytes, line);
}
template <typename Accessor, bool enable_noc_tracing = true>
FORCE_INLINE void noc_async_read_page(uint32_t page, const Accessor& accessor, uint32_t l1_addr, uint32_t offset = 0,
                                      uint8_t noc = noc_index, VD_LINE) {
    vd_noc_read(accessor.get_noc_addr(page, offset, noc, line), l1_addr, accessor.page_size - offset, line);
}
template <uint32_t max_page_size = 0, bool enable_noc_tracing = true, bool posted = false>
FORCE_INLINE void noc_async_write(uint32_t l1_addr, uint64_t target, uint32_t bytes, uint8_t = noc_index, uint32_t = 0,
                                  VD_LINE) {
    vd_noc_write(l1_addr, target, bytes, line);
}
template <typename Accessor, bool enable_noc_tracing = true, bool posted = false>
FORCE_INLINE void noc_async_write_page(uint32_t page, const Accessor& accessor, uint32_t l1_addr, uint32_t bytes = 0,
                                       uint32_t offset = 0, uint8_t noc = noc_index, VD_LINE) {
    vd_noc_write(l1_addr, accessor.get_noc_addr(page, offset, noc, line), bytes ? bytes : accessor.page_size - offset,
                 line);
}

FORCE_INLINE void noc_async_read_barrier(uint8_t = noc_index, VD_LINE) { vd_noc_read_barrier(line); }
FORCE_INLINE void noc_async_write_barrier(uint8_t = noc_index, VD_LINE) { vd_noc_write_barrier(line); }
FORCE_INLINE void noc_async_writes_flushed(uint8_t = noc_index, VD_LINE) { vd_noc_writes_flushed(line); }
FORCE_INLINE void noc_async_full_barrier(uint8_t = noc_index, VD_LINE) {
    vd_noc_read_barrier(line);
    vd_noc_write_barrier(line);
}
