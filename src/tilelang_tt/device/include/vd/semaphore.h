// Semaphores as words of L1: set and awaited by their core, signalled over the NoC.
#pragma once

#include "vd/noc.h"

enum class ProgrammableCoreType : uint8_t { TENSIX, ACTIVE_ETH, IDLE_ETH };

template <ProgrammableCoreType type = ProgrammableCoreType::TENSIX>
FORCE_INLINE uint32_t get_semaphore(uint32_t id, VD_LINE) {
    static_assert(type == ProgrammableCoreType::TENSIX,
                  "unimplemented on the virtual device: semaphores of ethernet cores");
    return vd_semaphore_addr(id, line);
}

namespace vd {
FORCE_INLINE uint32_t address_of(const volatile void* pointer) {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pointer));
}
}  // namespace vd

FORCE_INLINE void noc_semaphore_wait(volatile tt_l1_ptr uint32_t* semaphore, uint32_t value, VD_LINE) {
    vd_semaphore_wait(vd::address_of(semaphore), value, false, line);
}
FORCE_INLINE void noc_semaphore_wait_min(volatile tt_l1_ptr uint32_t* semaphore, uint32_t value, VD_LINE) {
    vd_semaphore_wait(vd::address_of(semaphore), value, true, line);
}
FORCE_INLINE void noc_semaphore_set(volatile tt_l1_ptr uint32_t* semaphore, uint32_t value, VD_LINE) {
    vd_semaphore_set(vd::address_of(semaphore), value, line);
}
FORCE_INLINE void noc_semaphore_set_remote(uint32_t l1_addr, uint64_t target, uint8_t noc = noc_index, VD_LINE) {
    vd_noc_write(l1_addr, target, 4, vd::how(noc, VD_REGISTER_BUFFER), line);
}
FORCE_INLINE void noc_semaphore_set_multicast(uint32_t l1_addr, uint64_t target, uint32_t dests, bool linked = false,
                                              uint8_t noc = noc_index, uint8_t = NOC_MULTICAST_WRITE_VC, VD_LINE) {
    vd_noc_write_multicast(l1_addr, target, 4, dests, vd::multicast(noc, linked, false, VD_REGISTER_BUFFER), line);
}
FORCE_INLINE void noc_semaphore_set_multicast_loopback_src(uint32_t l1_addr, uint64_t target, uint32_t dests,
                                                           bool linked = false, uint8_t noc = noc_index, VD_LINE) {
    vd_noc_write_multicast(l1_addr, target, 4, dests, vd::multicast(noc, linked, true, VD_REGISTER_BUFFER), line);
}
template <bool posted = false>
FORCE_INLINE void noc_semaphore_inc(uint64_t target, uint32_t value, uint8_t noc = noc_index,
                                    uint8_t = NOC_UNICAST_WRITE_VC, VD_LINE) {
    vd_kernel_reaches_cores();
    vd_noc_add(target, value, vd::posted(vd::how(noc, VD_ATOMIC_BUFFER), posted), line);
}
template <bool posted = false>
FORCE_INLINE void noc_semaphore_inc_multicast(uint64_t target, uint32_t value, uint32_t dests, uint8_t noc = noc_index,
                                              uint8_t = NOC_MULTICAST_WRITE_VC, VD_LINE) {
    vd_kernel_reaches_cores();
    vd_noc_add_multicast(target, value, dests, vd::posted(vd::how(noc, VD_ATOMIC_BUFFER), posted), line);
}
