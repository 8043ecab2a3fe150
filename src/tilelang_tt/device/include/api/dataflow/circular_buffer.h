// CircularBuffer: a circular buffer as an object, and as an end of a transfer.
#pragma once

#include "api/dataflow/noc.h"
#include "api/lock.h"

class CircularBuffer {
public:
    enum class AddrSelector { WRITE_PTR, READ_PTR };

    explicit CircularBuffer(uint32_t cb_id) : cb_id_(cb_id) {}

    uint32_t get_cb_id() const { return cb_id_; }
    void reserve_back(int32_t pages, VD_LINE) { vd_cb_reserve_back(cb_id_, static_cast<uint32_t>(pages), line); }
    void push_back(int32_t pages, VD_LINE) { vd_cb_push_back(cb_id_, static_cast<uint32_t>(pages), line); }
    void wait_front(int32_t pages, VD_LINE) { vd_cb_wait_front(cb_id_, static_cast<uint32_t>(pages), line); }
    void pop_front(int32_t pages, VD_LINE) { vd_cb_pop_front(cb_id_, static_cast<uint32_t>(pages), line); }
    bool pages_reservable_at_back(int32_t pages, VD_LINE) const {
        return vd_cb_reservable(cb_id_, static_cast<uint32_t>(pages), line);
    }
    bool pages_available_at_front(int32_t pages, VD_LINE) const {
        return vd_cb_available(cb_id_, static_cast<uint32_t>(pages), line);
    }
    uint32_t get_write_ptr(VD_LINE) const { return vd_cb_write_ptr(cb_id_, line); }
    uint32_t get_read_ptr(VD_LINE) const { return vd_cb_read_ptr(cb_id_, line); }
    uint32_t get_tile_address(uint32_t tile, VD_LINE) const { return vd_tile_address(cb_id_, tile, line); }
    uint32_t read_tile_value(uint32_t tile, uint32_t element, VD_LINE) const {
        return reinterpret_cast<const volatile uint32_t*>(
            static_cast<uintptr_t>(vd_tile_address(cb_id_, tile, line)))[element];
    }
    uint32_t get_tile_size() const { return static_cast<uint32_t>(::get_tile_size(static_cast<int32_t>(cb_id_))); }
    uint32_t get_tile_hw() const { return ::get_tile_hw(static_cast<int32_t>(cb_id_)); }
    DataFormat get_dataformat() const { return ::get_dataformat(static_cast<int32_t>(cb_id_)); }
    [[nodiscard]] auto scoped_lock() {
        return Lock([] {});
    }

private:
    uint32_t cb_id_;
};

// The end a transfer uses when it is not the usual one.
template <CircularBuffer::AddrSelector Selector>
struct CircularBufferView {
    const CircularBuffer& cb;
    explicit constexpr CircularBufferView(const CircularBuffer& of) : cb(of) {}
};
template <CircularBuffer::AddrSelector Selector>
constexpr auto use(const CircularBuffer& cb) {
    return CircularBufferView<Selector>(cb);
}

namespace vd {
inline uint32_t read_end(const CircularBuffer& cb, uint32_t line) { return vd_cb_read_ptr(cb.get_cb_id(), line); }
inline uint32_t write_end(const CircularBuffer& cb, uint32_t line) { return vd_cb_write_ptr(cb.get_cb_id(), line); }
template <CircularBuffer::AddrSelector Selector>
uint32_t view_end(const CircularBufferView<Selector>& view, uint32_t line) {
    return Selector == CircularBuffer::AddrSelector::READ_PTR ? read_end(view.cb, line) : write_end(view.cb, line);
}
}  // namespace vd

template <>
struct noc_traits_t<CircularBuffer> : vd::BufferTraits<CircularBuffer, vd::read_end, vd::write_end> {};
template <CircularBuffer::AddrSelector Selector>
struct noc_traits_t<CircularBufferView<Selector>>
    : vd::BufferTraits<CircularBufferView<Selector>, vd::view_end<Selector>, vd::view_end<Selector>> {};
