// get_local_cb_interface: what a processor knows of a circular buffer. Fields are asked for when they are read. The read and
// write pointers may be moved inside the same buffer, to where a page begins or, in steps of 16 bytes, between two; other
// fields cannot be written here.
#pragma once

#include "vd/kernel.h"

namespace vd {

class CbField {
public:
    constexpr CbField(uint8_t cb, uint8_t field) : cb_(cb), field_(field) {}
    operator uint32_t() const { return vd_cb_field(cb_, field_); }
    const CbField& operator=(uint32_t value) const {
        vd_cb_set_field(cb_, field_, value);
        return *this;
    }
    const CbField& operator=(const CbField& other) const { return *this = static_cast<uint32_t>(other); }
    CbField& operator=(const CbField& other) {
        vd_cb_set_field(cb_, field_, other);
        return *this;
    }
    const CbField& operator+=(uint32_t more) const { return *this = *this + more; }
    const CbField& operator-=(uint32_t less) const { return *this = *this - less; }
    CbField(const CbField&) = default;

private:
    uint8_t cb_, field_;
};

}  // namespace vd

struct LocalCBInterface {
    vd::CbField fifo_size, fifo_limit, fifo_page_size, fifo_num_pages, fifo_rd_ptr, fifo_wr_ptr, fifo_wr_tile_ptr;

    constexpr explicit LocalCBInterface(uint8_t cb)
        : fifo_size(cb, VD_CB_SIZE),
          fifo_limit(cb, VD_CB_LIMIT),
          fifo_page_size(cb, VD_CB_PAGE_SIZE),
          fifo_num_pages(cb, VD_CB_NUM_PAGES),
          fifo_rd_ptr(cb, VD_CB_RD_PTR),
          fifo_wr_ptr(cb, VD_CB_WR_PTR),
          fifo_wr_tile_ptr(cb, VD_CB_WR_TILE_PTR) {}
};

namespace vd {

struct CbInterfaces {
    LocalCBInterface at[64] = {VD_EACH_CB(LocalCBInterface)};
};
inline constexpr CbInterfaces cb_interfaces{};

}  // namespace vd

// Kernels bind it to a plain reference; nothing can be stored through one.
FORCE_INLINE LocalCBInterface& get_local_cb_interface(uint32_t cb, VD_LINE) {
    vd_cb_pages(cb, line);
    return const_cast<LocalCBInterface&>(vd::cb_interfaces.at[cb]);
}

// Shift from this processor's unit to bytes.
#if defined(COMPILE_FOR_TRISC)
constexpr uint32_t cb_addr_shift = 4;
#else
constexpr uint32_t cb_addr_shift = 0;
#endif
