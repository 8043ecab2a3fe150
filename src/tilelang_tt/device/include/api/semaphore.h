// Semaphore<>: a semaphore as an object.
#pragma once

#include "api/dataflow/noc.h"

template <ProgrammableCoreType core_type = ProgrammableCoreType::TENSIX>
class Semaphore {
    template <ProgrammableCoreType>
    friend class Semaphore;

public:
    explicit Semaphore(uint32_t id, VD_LINE) : address_(vd_semaphore_addr(id, line)) {
        static_assert(core_type == ProgrammableCoreType::TENSIX,
                      "unimplemented on the virtual device: semaphores of ethernet cores");
    }

    // Not atomic: only when no other core changes the semaphore at the same time.
    void up(uint32_t value, VD_LINE) { vd_semaphore_set(address_, load() + value, line); }
    void up(const Noc& noc, uint32_t x, uint32_t y, uint32_t value, uint8_t vc = NOC_UNICAST_WRITE_VC, VD_LINE) {
        noc_semaphore_inc(::get_noc_addr(x, y, address_), value, noc.get_noc_id(), vc, line);
    }
    void down(uint32_t value, VD_LINE) {
        vd_semaphore_wait(address_, value, true, line);
        vd_semaphore_set(address_, load() - value, line);
    }
    void wait(uint32_t value, VD_LINE) const { vd_semaphore_wait(address_, value, false, line); }
    void wait_min(uint32_t value, VD_LINE) const { vd_semaphore_wait(address_, value, true, line); }
    void set(uint32_t value, VD_LINE) { vd_semaphore_set(address_, value, line); }
    uint32_t value(VD_LINE) const { return vd_semaphore_value(address_, line); }

    template <ProgrammableCoreType dst_core_type = core_type>
    void relay_unicast(const Noc& noc, const Semaphore<dst_core_type>& target, uint32_t x, uint32_t y, VD_LINE) {
        noc_semaphore_set_remote(address_, ::get_noc_addr(x, y, target.address_), noc.get_noc_id(), line);
    }
    template <NocOptions opts = NocOptions::DEFAULT>
    void set_multicast(const Noc& noc, uint32_t x_start, uint32_t y_start, uint32_t x_end, uint32_t y_end,
                       uint32_t dests, bool linked = false, VD_LINE) {
        send<opts>(noc, address_, x_start, y_start, x_end, y_end, dests, linked, line);
    }
    template <NocOptions opts = NocOptions::DEFAULT, ProgrammableCoreType dst_core_type = core_type>
    void relay_multicast(const Noc& noc, const Semaphore<dst_core_type>& target, uint32_t x_start, uint32_t y_start,
                         uint32_t x_end, uint32_t y_end, uint32_t dests, bool linked = false, VD_LINE) {
        send<opts>(noc, target.address_, x_start, y_start, x_end, y_end, dests, linked, line);
    }
    void inc_multicast(const Noc& noc, uint32_t x_start, uint32_t y_start, uint32_t x_end, uint32_t y_end,
                       uint32_t value, uint32_t dests, VD_LINE) {
        noc_semaphore_inc_multicast(::get_noc_multicast_addr(x_start, y_start, x_end, y_end, address_), value, dests,
                                    noc.get_noc_id(), NOC_MULTICAST_WRITE_VC, line);
    }

private:
    uint32_t load() const { return *reinterpret_cast<volatile tt_l1_ptr uint32_t*>(static_cast<uintptr_t>(address_)); }
    template <NocOptions opts>
    void send(const Noc& noc, uint32_t target, uint32_t x_start, uint32_t y_start, uint32_t x_end, uint32_t y_end,
              uint32_t dests, bool linked, uint32_t line) {
        constexpr bool loopback = has_flag(opts, NocOptions::MCAST_INCL_SRC);
        vd_noc_write_multicast(address_, ::get_noc_multicast_addr(x_start, y_start, x_end, y_end, target), 4, dests,
                               vd::multicast(noc.get_noc_id(), linked, loopback, VD_REGISTER_BUFFER), line);
    }
    uint32_t address_;
};
