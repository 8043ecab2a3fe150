// DataflowBuffer: on these chips a circular buffer under a newer name.
#pragma once

#include <type_traits>

#include "api/core_local_mem.h"
#include "api/dataflow/circular_buffer.h"
#include "vd/missing.h"

struct DFBBindingToken {
    explicit constexpr DFBBindingToken(uint16_t id) noexcept : id_(id) {}
    constexpr operator uint32_t() const noexcept { return id_; }

private:
    uint16_t id_;
};

// Ends of a region that a kernel looks at directly.
template <bool IsWrite>
class DfbScopedLock {
public:
    explicit DfbScopedLock(uint32_t pointer) : pointer_(pointer) {}
    DfbScopedLock(const DfbScopedLock&) = delete;
    DfbScopedLock& operator=(const DfbScopedLock&) = delete;
    template <typename T = uint32_t>
    CoreLocalMem<std::conditional_t<IsWrite, T, const T>> get_ptr() const {
        return CoreLocalMem<std::conditional_t<IsWrite, T, const T>>(static_cast<uintptr_t>(pointer_));
    }

private:
    uint32_t pointer_;
};

class DataflowBuffer {
public:
    DataflowBuffer(DFBBindingToken token) : id_(static_cast<uint16_t>(token)) {}
    DataflowBuffer(uint16_t id) : id_(id) {}

    uint16_t get_id() const { return id_; }
    uint32_t get_entry_size(VD_LINE) const { return vd_cb_page_bytes(id_, line); }
    uint32_t get_stride_size(VD_LINE) const { return vd_cb_page_bytes(id_, line); }
    uint32_t get_total_num_entries(VD_LINE) const { return vd_cb_pages(id_, line); }
    uint32_t get_total_size_bytes(VD_LINE) const { return vd_cb_pages(id_, line) * vd_cb_page_bytes(id_, line); }
    uint32_t get_local_num_entries(VD_LINE) const { return vd_cb_pages(id_, line); }
    uint32_t get_local_size_bytes(VD_LINE) const { return vd_cb_pages(id_, line) * vd_cb_page_bytes(id_, line); }
    void reserve_back(uint16_t entries, VD_LINE) { vd_cb_reserve_back(id_, entries, line); }
    void push_back(uint16_t entries, VD_LINE) { vd_cb_push_back(id_, entries, line); }
    void wait_front(uint16_t entries, VD_LINE) { vd_cb_wait_front(id_, entries, line); }
    void pop_front(uint16_t entries, VD_LINE) { vd_cb_pop_front(id_, entries, line); }
    bool pages_reservable_at_back(int32_t pages, VD_LINE) const {
        return vd_cb_reservable(id_, static_cast<uint32_t>(pages), line);
    }
    bool pages_available_at_front(int32_t pages, VD_LINE) const {
        return vd_cb_available(id_, static_cast<uint32_t>(pages), line);
    }
    uint32_t get_write_ptr(VD_LINE) const { return vd_cb_write_ptr(id_, line); }
    uint32_t get_read_ptr(VD_LINE) const { return vd_cb_read_ptr(id_, line); }
    uint32_t get_tile_address(uint32_t tile, VD_LINE) const { return vd_tile_address(id_, tile, line); }
    template <typename T = uint32_t>
    T read_tile_value(uint32_t tile, uint32_t element, VD_LINE) const {
        return reinterpret_cast<const volatile T*>(static_cast<uintptr_t>(vd_tile_address(id_, tile, line)))[element];
    }
    uint32_t get_tile_size() const { return static_cast<uint32_t>(::get_tile_size(id_)); }
    uint32_t get_tile_hw() const { return ::get_tile_hw(id_); }
    uint32_t get_tile_r_dim() const { return vd::tile_rows(id_); }
    uint32_t get_tile_c_dim() const { return vd::tile_cols(id_); }
    uint32_t get_tile_num_faces() const { return vd::faces(id_); }
    uint32_t get_face_r_dim() const { return vd::face_rows(id_); }
    uint32_t get_num_faces_r_dim() const { return vd::tile_rows(id_) > 16 ? 2 : 1; }
    uint32_t get_num_faces_c_dim() const { return vd::tile_cols(id_) > 16 ? 2 : 1; }
    uint32_t get_partial_face() const { return 0; }
    uint32_t get_narrow_tile() const { return 0; }
    uint32_t get_ring_span_num_entries(VD_LINE) const { return vd_cb_pages(id_, line); }
    uint32_t get_ring_span_bytes(VD_LINE) const { return vd_cb_pages(id_, line) * vd_cb_page_bytes(id_, line); }
    DataFormat get_dataformat() const { return ::get_dataformat(id_); }
    VD_MISSING_METHOD(evil_set_read_ptr)
    VD_MISSING_METHOD(evil_set_write_ptr)
    VD_MISSING_METHOD(get_consumer_share)
    VD_MISSING_METHOD(get_producer_share)
    VD_MISSING_METHOD(get_consumer_stride_tiles)
    VD_MISSING_METHOD(get_producer_stride_tiles)
    VD_MISSING_METHOD(get_pack_src_format)
    VD_MISSING_METHOD(get_pack_dst_format)
    VD_MISSING_METHOD(get_unpack_dst_format)
    void finish() {}
    void write_barrier(const Noc& noc, VD_LINE) const { vd_noc_write_barrier(noc.get_noc_id(), -1, line); }
    [[nodiscard]] auto scoped_write_lock(uint16_t = 1, VD_LINE) { return DfbScopedLock<true>(get_write_ptr(line)); }
    [[nodiscard]] auto scoped_read_lock(uint16_t = 1, VD_LINE) { return DfbScopedLock<false>(get_read_ptr(line)); }

private:
    uint16_t id_;
};

namespace vd {
inline uint32_t dfb_read_end(const DataflowBuffer& buffer, uint32_t line) {
    return vd_cb_read_ptr(buffer.get_id(), line);
}
inline uint32_t dfb_write_end(const DataflowBuffer& buffer, uint32_t line) {
    return vd_cb_write_ptr(buffer.get_id(), line);
}
}  // namespace vd

template <>
struct noc_traits_t<DataflowBuffer> : vd::BufferTraits<DataflowBuffer, vd::dfb_read_end, vd::dfb_write_end> {};
