// Transfers of any length and of one packet, to one place and to a rectangle of cores; barriers.
#pragma once

#include "hostdevcommon/common_values.hpp"
#include "vd/cores.h"

#define MEM_ZEROS_BASE VD_MEM_ZEROS_BASE
#define MEM_ZEROS_SIZE 512

constexpr uint8_t noc_index = VD_NOC_INDEX;
constexpr uint8_t NUM_NOCS = 2;
enum : uint8_t { DM_DEDICATED_NOC = 0, DM_DYNAMIC_NOC = 1 };
constexpr uint8_t noc_mode = DM_DEDICATED_NOC;
enum : uint8_t { NOC_0 = 0, NOC_1 = 1 };

#if defined(ARCH_BLACKHOLE)
constexpr uint32_t NOC_MAX_BURST_SIZE = 16384;
constexpr uint32_t DRAM_ALIGNMENT = 64;
constexpr uint32_t NOC_DRAM_READ_ALIGNMENT_BYTES = 64;
#else
constexpr uint32_t NOC_MAX_BURST_SIZE = 8192;
constexpr uint32_t DRAM_ALIGNMENT = 32;
constexpr uint32_t NOC_DRAM_READ_ALIGNMENT_BYTES = 32;
#endif
constexpr uint32_t L1_ALIGNMENT = 16;
constexpr uint32_t NOC_L1_READ_ALIGNMENT_BYTES = 16;
constexpr uint32_t NOC_L1_WRITE_ALIGNMENT_BYTES = 16;
constexpr uint32_t NOC_DRAM_WRITE_ALIGNMENT_BYTES = 16;

// Virtual channels and command buffers: names kernels pass on; this device orders by the SDK's defaults.
constexpr uint32_t NOC_UNICAST_WRITE_VC = 1;
constexpr uint32_t NOC_MULTICAST_WRITE_VC = 4;
constexpr uint8_t write_cmd_buf = 0, read_cmd_buf = 1, write_reg_cmd_buf = 2, write_at_cmd_buf = 3;

// Bits of a NoC address: 36 of local address, then x and y, 6 each; a rectangle has two more.
constexpr uint32_t NOC_MAX_TRANSACTION_ID = 15;
constexpr uint32_t NOC_LOCAL_BITS = 36;
constexpr uint32_t NOC_NODE_BITS = 6;

#define NOC_LOCAL_ADDR_OFFSET(address) (static_cast<uint64_t>(address) & ((1ull << NOC_LOCAL_BITS) - 1))
#define NOC_UNICAST_ADDR_X(address) (static_cast<uint64_t>(address) >> NOC_LOCAL_BITS & ((1u << NOC_NODE_BITS) - 1))
#define NOC_UNICAST_ADDR_Y(address) \
    (static_cast<uint64_t>(address) >> (NOC_LOCAL_BITS + NOC_NODE_BITS) & ((1u << NOC_NODE_BITS) - 1))

namespace vd {

constexpr VdHow how(uint8_t noc, uint8_t buffer = VD_WRITE_BUFFER) {
    VdHow made;
    made.noc = noc;
    made.buffer = buffer;
    return made;
}

constexpr VdHow packet(VdHow made) {
    made.one_packet = 1;
    return made;
}

constexpr VdHow stateful(VdHow made) {
    made.stateful = 1;
    return made;
}

constexpr VdHow posted(VdHow made, bool is) {
    made.posted = is;
    return made;
}

constexpr VdHow multicast(uint8_t noc, bool linked, bool loopback, uint8_t buffer = VD_WRITE_BUFFER) {
    VdHow made = how(noc, buffer);
    made.linked = linked;
    made.loopback = loopback;
    return made;
}

// Transfers without an id of their own carry the one that was set last.
inline VdHow reading(uint8_t noc) {
    VdHow made = how(noc);
    made.trid = static_cast<uint8_t>(vd_noc_trid(false, noc));
    return made;
}
inline VdHow writing(uint8_t noc) {
    VdHow made = how(noc);
    made.trid = static_cast<uint8_t>(vd_noc_trid(true, noc));
    return made;
}
inline VdHow with_trid(VdHow made, uint32_t trid, uint32_t line) {
    vd_noc_check_trid(trid, line);
    made.trid = static_cast<uint8_t>(trid);
    return made;
}

struct NocCoordinate {
    bool y;
    uint8_t operator[](uint32_t) const { return static_cast<uint8_t>(vd_noc_coordinate(y)); }
};

}  // namespace vd

// Virtual coordinates of this core, the same for both NoCs.
constexpr vd::NocCoordinate my_x{false};
constexpr vd::NocCoordinate my_y{true};

inline uint8_t get_absolute_logical_x() { return static_cast<uint8_t>(vd_logical_coordinate(false)); }
inline uint8_t get_absolute_logical_y() { return static_cast<uint8_t>(vd_logical_coordinate(true)); }
inline uint8_t get_relative_logical_x() { return static_cast<uint8_t>(vd_relative_coordinate(false)); }
inline uint8_t get_relative_logical_y() { return static_cast<uint8_t>(vd_relative_coordinate(true)); }

FORCE_INLINE uint32_t get_write_ptr(uint32_t cb, VD_LINE) { return vd_cb_write_ptr(cb, line); }
FORCE_INLINE uint32_t get_read_ptr(uint32_t cb, VD_LINE) { return vd_cb_read_ptr(cb, line); }

FORCE_INLINE bool cb_pages_reservable_at_back(int32_t cb, int32_t pages, VD_LINE) {
    return vd_cb_reservable(static_cast<uint32_t>(cb), static_cast<uint32_t>(pages), line);
}
FORCE_INLINE bool cb_pages_available_at_front(int32_t cb, int32_t pages, VD_LINE) {
    return vd_cb_available(static_cast<uint32_t>(cb), static_cast<uint32_t>(pages), line);
}

#define RISC_POST_HEARTBEAT(value)
inline bool is_l1_address(uint64_t address) { return (address & 0xFFFFFFFF) < 0xFFB00000; }  // registers lie above

// The cache is off by default; loops that look at L1 again and again call this, so others may run here.
inline void invalidate_l1_cache(VD_LINE) { vd_poll(line); }

// ---- addresses -------------------------------------------------------------------------------------
FORCE_INLINE uint64_t get_noc_addr(uint32_t x, uint32_t y, uint32_t addr, uint8_t = noc_index) {
    vd_kernel_reaches_cores();
    return (static_cast<uint64_t>(y) << (NOC_LOCAL_BITS + NOC_NODE_BITS)) |
           (static_cast<uint64_t>(x) << NOC_LOCAL_BITS) | addr;
}
FORCE_INLINE uint64_t get_noc_addr(uint32_t addr, uint8_t = noc_index) { return vd_noc_addr_local(addr); }
FORCE_INLINE uint64_t get_noc_multicast_addr(uint32_t x_start, uint32_t y_start, uint32_t x_end, uint32_t y_end,
                                             uint32_t addr, uint8_t = noc_index) {
    vd_kernel_reaches_cores();
    return (static_cast<uint64_t>(x_start) << (NOC_LOCAL_BITS + 2 * NOC_NODE_BITS)) |
           (static_cast<uint64_t>(y_start) << (NOC_LOCAL_BITS + 3 * NOC_NODE_BITS)) |
           (static_cast<uint64_t>(x_end) << NOC_LOCAL_BITS) |
           (static_cast<uint64_t>(y_end) << (NOC_LOCAL_BITS + NOC_NODE_BITS)) | addr;
}
template <bool DRAM>
FORCE_INLINE uint64_t get_noc_addr_from_bank_id(uint32_t bank, uint32_t address, uint8_t = noc_index, VD_LINE) {
    return vd_noc_addr_of_bank(DRAM, bank, address, line);
}

// ---- reads -----------------------------------------------------------------------------------------
template <bool enable_noc_tracing = true>
FORCE_INLINE void noc_async_read_one_packet(uint64_t source, uint32_t l1_addr, uint32_t bytes, uint8_t noc = noc_index,
                                            uint32_t = NOC_UNICAST_WRITE_VC, VD_LINE) {
    vd_noc_read(source, l1_addr, bytes, vd::packet(vd::reading(noc)), line);
}
template <uint32_t max_page_size = NOC_MAX_BURST_SIZE + 1, bool enable_noc_tracing = true>
FORCE_INLINE void noc_async_read(uint64_t source, uint32_t l1_addr, uint32_t bytes, uint8_t noc = noc_index,
                                 uint32_t = NOC_UNICAST_WRITE_VC, VD_LINE) {
    constexpr bool one_packet = max_page_size <= NOC_MAX_BURST_SIZE;
    vd_noc_read(source, l1_addr, bytes, one_packet ? vd::packet(vd::reading(noc)) : vd::reading(noc), line);
}
FORCE_INLINE void noc_async_read_inc_num_issued(uint32_t, uint8_t = noc_index) {}

// ---- writes ----------------------------------------------------------------------------------------
template <bool enable_noc_tracing = true, bool posted = false>
FORCE_INLINE void noc_async_write_one_packet(uint32_t l1_addr, uint64_t target, uint32_t bytes, uint8_t noc = noc_index,
                                             uint32_t = NOC_UNICAST_WRITE_VC, VD_LINE) {
    vd_noc_write(l1_addr, target, bytes, vd::packet(vd::posted(vd::writing(noc), posted)), line);
}
template <uint32_t max_page_size = NOC_MAX_BURST_SIZE + 1, bool enable_noc_tracing = true, bool posted = false>
FORCE_INLINE void noc_async_write(uint32_t l1_addr, uint64_t target, uint32_t bytes, uint8_t noc = noc_index,
                                  uint32_t = NOC_UNICAST_WRITE_VC, VD_LINE) {
    constexpr bool one_packet = max_page_size <= NOC_MAX_BURST_SIZE;
    const VdHow how = vd::posted(vd::writing(noc), posted);
    vd_noc_write(l1_addr, target, bytes, one_packet ? vd::packet(how) : how, line);
}

// ---- multicasts ------------------------------------------------------------------------------------
template <bool enable_noc_tracing = true>
FORCE_INLINE void noc_async_write_multicast_one_packet(uint32_t l1_addr, uint64_t target, uint32_t bytes,
                                                       uint32_t dests, bool linked = false, uint8_t noc = noc_index,
                                                       VD_LINE) {
    vd_noc_write_multicast(l1_addr, target, bytes, dests, vd::packet(vd::multicast(noc, linked, false)), line);
}
template <uint32_t max_page_size = NOC_MAX_BURST_SIZE + 1>
FORCE_INLINE void noc_async_write_multicast(uint32_t l1_addr, uint64_t target, uint32_t bytes, uint32_t dests,
                                            bool linked = false, uint8_t noc = noc_index,
                                            uint8_t = NOC_MULTICAST_WRITE_VC, VD_LINE) {
    constexpr bool one_packet = max_page_size <= NOC_MAX_BURST_SIZE;
    const VdHow how = vd::multicast(noc, linked, false);
    vd_noc_write_multicast(l1_addr, target, bytes, dests, one_packet ? vd::packet(how) : how, line);
}
FORCE_INLINE void noc_async_write_multicast_loopback_src(uint32_t l1_addr, uint64_t target, uint32_t bytes,
                                                         uint32_t dests, bool linked = false, uint8_t noc = noc_index,
                                                         VD_LINE) {
    vd_noc_write_multicast(l1_addr, target, bytes, dests, vd::multicast(noc, linked, true), line);
}

// ---- barriers --------------------------------------------------------------------------------------
FORCE_INLINE void noc_async_read_barrier(uint8_t noc = noc_index, VD_LINE) { vd_noc_read_barrier(noc, -1, line); }
FORCE_INLINE void noc_async_write_barrier(uint8_t noc = noc_index, VD_LINE) { vd_noc_write_barrier(noc, -1, line); }
FORCE_INLINE void noc_async_writes_flushed(uint8_t noc = noc_index, VD_LINE) {
    vd_noc_writes_flushed(noc, -1, false, line);
}
FORCE_INLINE void noc_async_posted_writes_flushed(uint8_t noc = noc_index, VD_LINE) {
    vd_noc_writes_flushed(noc, -1, true, line);
}
FORCE_INLINE void noc_async_atomic_barrier(uint8_t noc = noc_index, VD_LINE) { vd_noc_atomic_barrier(noc, line); }
FORCE_INLINE void noc_async_full_barrier(uint8_t noc = noc_index, VD_LINE) {
    vd_noc_read_barrier(noc, -1, line);
    vd_noc_write_barrier(noc, -1, line);
    vd_noc_writes_flushed(noc, -1, true, line);
    vd_noc_atomic_barrier(noc, line);
}
