// Stateful forms: one call prepares a command buffer, later ones give what changes.
#pragma once

#include "vd/noc.h"

template <bool use_vc = false>
FORCE_INLINE void noc_async_read_one_packet_set_state(uint64_t source, uint32_t bytes, const uint32_t = 0,
                                                      uint8_t noc = noc_index, VD_LINE) {
    vd_noc_set_state(VD_STATE_READ_PACKET, source, bytes, 0, noc, line);
}
template <bool inc_num_issued = true, bool use_vc = false>
FORCE_INLINE void noc_async_read_one_packet_with_state(uint32_t source, uint32_t l1_addr, const uint32_t = 0,
                                                       uint8_t noc = noc_index, VD_LINE) {
    vd_noc_read(vd_noc_state_address(VD_STATE_READ_PACKET, noc, source, line), l1_addr,
                vd_noc_state_bytes(VD_STATE_READ_PACKET, noc), vd::stateful(vd::packet(vd::reading(noc))), line);
}
FORCE_INLINE void noc_async_read_set_state(uint64_t source, uint8_t noc = noc_index, VD_LINE) {
    vd_noc_set_state(VD_STATE_READ, source, 0, 0, noc, line);
}
template <bool inc_num_issued = true, bool skip_cmdbuf_chk = false>
FORCE_INLINE void noc_async_read_with_state(uint32_t source, uint32_t l1_addr, uint32_t bytes, uint8_t noc = noc_index,
                                            VD_LINE) {
    vd_noc_read(vd_noc_state_address(VD_STATE_READ, noc, source, line), l1_addr, bytes,
                vd::stateful(vd::reading(noc)), line);
}

template <bool posted = false>
FORCE_INLINE void noc_async_write_one_packet_set_state(uint64_t target, uint32_t bytes, uint8_t noc = noc_index,
                                                       uint8_t = NOC_UNICAST_WRITE_VC, VD_LINE) {
    vd_noc_set_state(VD_STATE_WRITE_PACKET, target, bytes, 0, noc, line);
}
template <bool posted = false>
FORCE_INLINE void noc_async_write_one_packet_with_state(uint32_t l1_addr, uint32_t target, uint8_t noc = noc_index,
                                                        VD_LINE) {
    vd_noc_write(l1_addr, vd_noc_state_address(VD_STATE_WRITE_PACKET, noc, target, line),
                 vd_noc_state_bytes(VD_STATE_WRITE_PACKET, noc), vd::stateful(vd::packet(vd::posted(vd::writing(noc), posted))), line);
}
template <bool posted = false>
FORCE_INLINE void noc_async_write_set_state(uint64_t target, uint8_t noc = noc_index, uint8_t = NOC_UNICAST_WRITE_VC,
                                            VD_LINE) {
    vd_noc_set_state(VD_STATE_WRITE, target, 0, 0, noc, line);
}
template <bool posted = false, bool update_counter = true, bool skip_cmdbuf_chk = false>
FORCE_INLINE void noc_async_write_with_state(uint32_t l1_addr, uint32_t target, uint32_t bytes, uint8_t noc = noc_index,
                                             VD_LINE) {
    vd_noc_write(l1_addr, vd_noc_state_address(VD_STATE_WRITE, noc, target, line), bytes,
                 vd::stateful(vd::posted(vd::writing(noc), posted)), line);
}

// ---- words -----------------------------------------------------------------------------------------
enum class InlineWriteDst : uint8_t { DEFAULT, L1, REG };

namespace vd {
// Registers of other cores are no part of this device.
template <InlineWriteDst target>
FORCE_INLINE void require_l1(uint32_t line) {
    if constexpr (target == InlineWriteDst::REG) vd_unimplemented("inline writes to registers", line);
}
}  // namespace vd

template <InlineWriteDst dst_type = InlineWriteDst::DEFAULT, bool posted = false, bool flush = true>
FORCE_INLINE void noc_inline_dw_write(uint64_t target, uint32_t value, uint8_t byte_enable = 0xF,
                                      uint8_t noc = noc_index, uint8_t = NOC_UNICAST_WRITE_VC, uint32_t = 0, VD_LINE) {
    vd_kernel_reaches_cores();
    vd::require_l1<dst_type>(line);
    vd_noc_inline_write(target, value, byte_enable, vd::posted(vd::how(noc, VD_ATOMIC_BUFFER), posted), line);
}
template <bool posted = false, bool set_val = false>
FORCE_INLINE void noc_inline_dw_write_set_state(uint64_t target, uint32_t value = 0, uint8_t = 0xF,
                                                uint8_t = write_at_cmd_buf, uint8_t noc = noc_index,
                                                uint8_t = NOC_UNICAST_WRITE_VC, VD_LINE) {
    vd_kernel_reaches_cores();
    vd_noc_set_state(VD_STATE_INLINE, target, 4, value, noc, line);
}
template <bool update_addr_lo = false, bool update_counter = true, bool posted = false, bool update_addr_hi = false,
          bool update_val = false, InlineWriteDst dst_type = InlineWriteDst::DEFAULT>
FORCE_INLINE void noc_inline_dw_write_with_state(uint32_t value, uint32_t address = 0, uint8_t = write_at_cmd_buf,
                                                 uint8_t noc = noc_index, VD_LINE) {
    static_assert(!update_addr_hi,
                  "unimplemented on the virtual device: noc_inline_dw_write_with_state<update_addr_hi>");
    vd::require_l1<dst_type>(line);
    const uint64_t state = vd_noc_state_full_address(VD_STATE_INLINE, noc, line);
    const uint64_t target = update_addr_lo ? vd_noc_state_address(VD_STATE_INLINE, noc, address, line) : state;
    vd_noc_inline_write(target, update_val ? value : vd_noc_state_value(VD_STATE_INLINE, noc), 0xF,
                        vd::posted(vd::how(noc, VD_ATOMIC_BUFFER), posted), line);
}
template <InlineWriteDst dst_type = InlineWriteDst::DEFAULT, bool posted = false, bool flush = true>
FORCE_INLINE void noc_inline_mcast_dw_write(uint64_t, uint32_t, uint8_t = 0xF, uint8_t = noc_index,
                                            uint8_t = NOC_MULTICAST_WRITE_VC, uint32_t = 0, uint32_t = 1, VD_LINE) {
    vd_unimplemented("noc_inline_mcast_dw_write", line);
}
