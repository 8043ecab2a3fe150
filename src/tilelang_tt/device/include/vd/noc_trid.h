// Transfers with a transaction id, and waiting for one id only.
#pragma once

#include "vd/noc.h"

FORCE_INLINE void noc_async_read_set_trid(uint32_t trid = 0, uint8_t noc = noc_index, VD_LINE) {
    vd_noc_set_trid(false, trid, noc, line);
}
FORCE_INLINE void noc_async_write_set_trid(uint32_t trid = 0, uint8_t noc = noc_index, VD_LINE) {
    vd_noc_set_trid(true, trid, noc, line);
}
FORCE_INLINE void noc_async_read_barrier_with_trid(uint32_t trid, uint8_t noc = noc_index, VD_LINE) {
    vd_noc_check_trid(trid, line);
    vd_noc_read_barrier(noc, static_cast<int32_t>(trid), line);
}
FORCE_INLINE void noc_async_write_barrier_with_trid(uint32_t trid, uint8_t noc = noc_index, VD_LINE) {
    vd_noc_check_trid(trid, line);
    vd_noc_write_barrier(noc, static_cast<int32_t>(trid), line);
}
FORCE_INLINE void noc_async_write_flushed_with_trid(uint32_t trid, uint8_t noc = noc_index, VD_LINE) {
    vd_noc_check_trid(trid, line);
    vd_noc_writes_flushed(noc, static_cast<int32_t>(trid), false, line);
}
FORCE_INLINE bool ncrisc_noc_read_with_transaction_id_flushed(uint32_t noc, uint32_t trid, VD_LINE) {
    vd_noc_check_trid(trid, line);
    return vd_noc_reads_flushed(noc, static_cast<int32_t>(trid), line);
}
template <typename... Ignored>
FORCE_INLINE void reset_noc_trid_barrier_counter(Ignored...) {}

template <bool skip_ptr_update = false, bool skip_cmdbuf_chk = false>
FORCE_INLINE void noc_async_read_one_packet_with_state_with_trid(uint32_t source_base, uint32_t source,
                                                                 uint32_t l1_addr, uint32_t trid = 0,
                                                                 uint8_t noc = noc_index, VD_LINE) {
    vd_noc_read(vd_noc_state_address(VD_STATE_READ_PACKET, noc, source_base + source, line), l1_addr,
                vd_noc_state_bytes(VD_STATE_READ_PACKET, noc),
                vd::stateful(vd::with_trid(vd::packet(vd::how(noc)), trid, line)), line);
}
template <bool update_counter = true, bool posted = false>
FORCE_INLINE void noc_async_write_one_packet_with_trid(uint32_t l1_addr, uint64_t target, uint32_t bytes, uint32_t trid,
                                                       uint8_t = write_cmd_buf, uint8_t noc = noc_index,
                                                       uint8_t = NOC_UNICAST_WRITE_VC, VD_LINE) {
    vd_noc_write(l1_addr, target, bytes, vd::with_trid(vd::packet(vd::posted(vd::how(noc), posted)), trid, line), line);
}
template <bool posted = false>
FORCE_INLINE void noc_async_write_one_packet_with_trid_set_state(uint64_t target, uint8_t = write_cmd_buf,
                                                                 uint8_t noc = noc_index,
                                                                 uint8_t = NOC_UNICAST_WRITE_VC, VD_LINE) {
    vd_noc_set_state(VD_STATE_WRITE_TRID, target, 0, 0, noc, line);
}
template <bool update_counter = true, bool posted = false>
FORCE_INLINE void noc_async_write_one_packet_with_trid_with_state(uint32_t l1_addr, uint32_t target, uint32_t bytes,
                                                                  uint32_t trid, uint8_t = write_cmd_buf,
                                                                  uint8_t noc = noc_index, VD_LINE) {
    vd_noc_write(l1_addr, vd_noc_state_address(VD_STATE_WRITE_TRID, noc, target, line), bytes,
                 vd::stateful(vd::with_trid(vd::packet(vd::posted(vd::how(noc), posted)), trid, line)), line);
}
