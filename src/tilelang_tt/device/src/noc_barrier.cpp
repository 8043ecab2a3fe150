// Barriers and flushes: where a kernel waits for its transfers, and what stateful calls remember.
#include <cstring>
#include <iterator>

#include "machine.h"
#include "order.h"
#include "vd/noc_abi.h"

namespace vd {
namespace {

bool chosen(const Transfer& transfer, uint32_t noc, int32_t trid) {
    return transfer.noc == noc && (trid == kAnyTrid || transfer.trid == static_cast<uint32_t>(trid));
}

void finish_read(const Transfer& transfer) {
    if (carries(transfer.bytes)) std::memmove(transfer.target, transfer.source, transfer.bytes);
    note_landed(transfer.l1_offset, transfer.bytes);
    if (transfer.elements) note_elements(transfer.l1_offset, transfer.bytes);
}

// Removes what `done` accepts, in an order that a seed decides.
template <typename Done, typename Finish>
void complete(std::vector<Transfer>& transfers, Done done, Finish finish) {
    if (device.seed != 0) {
        for (std::size_t i = transfers.size(); i > 1; --i) {
            std::swap(transfers[i - 1], transfers[pick(static_cast<uint32_t>(i))]);
        }
    }
    std::size_t kept = 0;
    for (Transfer& transfer : transfers) {
        if (done(transfer)) {
            finish(transfer);
        } else {
            transfers[kept++] = transfer;
        }
    }
    transfers.resize(kept);
}

void require_trid(int32_t trid) {
    if (trid >= static_cast<int32_t>(kTrids)) {
        breach("noc-trid", "transaction id %d: ids are 0 to %u", trid, kTrids - 1);
    }
}

// The sources of these writes are free again; on a chip their bytes are somewhere in the NoC.
void let_leave(uint32_t noc, int32_t trid, bool posted, bool acknowledged) {
    const bool connected = device.launch->connected();
    complete(
        fiber->writes, [&](const Transfer& one) { return chosen(one, noc, trid) && (one.posted == posted); },
        [&](const Transfer& one) {
            if (!connected && carries(one.bytes)) std::memmove(one.target, one.source, one.bytes);
            if (!acknowledged && !posted) fiber->unacknowledged[one.noc][one.trid] = one.line;
        });
}

// The scheduler decides when the bytes arrive; others may run until then.
void await_arrival(uint32_t noc, int32_t trid, bool atomics) {
    fiber->wait_noc = noc;
    fiber->wait_trid = trid;
    fiber->wait_atomics = atomics;
    while (device.launch->connected() && awaits(*fiber)) {
        fiber->wait = Wait::Arrival;
        yield_to_scheduler();
    }
}

}  // namespace

void forget_transfers(Fiber& which) {
    std::memset(which.unacknowledged, 0, sizeof which.unacknowledged);
    which.flushes = 0;
    for (uint32_t noc = 0; noc < kNocs; ++noc) {
        which.linked_line[noc] = which.read_trid[noc] = which.write_trid[noc] = 0;
        for (CommandState& state : which.states[noc]) state = CommandState{};
    }
}

}  // namespace vd

using namespace vd;

extern "C" {

void vd_noc_read_barrier(uint32_t noc, int32_t trid, uint32_t line) {
    enter(line);
    note::barrier(note::Kind::ReadBarrier, noc, trid);
    require_trid(trid);
    if (fiber->looks_at) poll();  // whoever changes the word has to run
    maybe_give_way();
    if (fiber->looks_at) note::polled(semaphore_changes(*fiber->looks_at, fiber->looks_offset));
    fiber->looks_at = nullptr;
    complete(fiber->reads, [&](const Transfer& one) { return chosen(one, noc, trid); }, finish_read);
}

bool vd_noc_reads_flushed(uint32_t noc, int32_t trid, uint32_t line) {
    enter(line);
    note::barrier(note::Kind::ReadBarrier, noc, trid);
    require_trid(trid);
    poll();  // a kernel asks again until it hears yes
    complete(fiber->reads, [&](const Transfer& one) { return chosen(one, noc, trid); }, finish_read);
    return true;
}

void vd_noc_writes_flushed(uint32_t noc, int32_t trid, bool posted, uint32_t line) {
    enter(line);
    note::barrier(note::Kind::Flush, noc, trid);
    require_trid(trid);
    if (device.launch->connected()) {
        depart_all(*fiber, noc, trid);
        land_own_copies(*fiber, noc, trid);
    }
    let_leave(noc, trid, posted, false);
    ++fiber->flushes;
    maybe_give_way();
}

void vd_noc_write_barrier(uint32_t noc, int32_t trid, uint32_t line) {
    enter(line);
    note::barrier(note::Kind::WriteBarrier, noc, trid);
    require_trid(trid);
    maybe_give_way();
    await_arrival(noc, trid, false);
    let_leave(noc, trid, false, true);
    order_write_barrier(noc, trid);
    for (uint32_t id = 0; id < kTrids; ++id) {
        if (trid == kAnyTrid || static_cast<uint32_t>(trid) == id) fiber->unacknowledged[noc][id] = 0;
    }
    ++fiber->flushes;
}

void vd_noc_atomic_barrier(uint32_t noc, uint32_t line) {
    enter(line);
    note::barrier(note::Kind::AtomicBarrier, noc, kAnyTrid);
    maybe_give_way();
    await_arrival(noc, kAnyTrid, true);
    ++fiber->flushes;
}

void vd_noc_set_state(uint32_t command, uint64_t address, uint32_t bytes, uint32_t value, uint32_t noc, uint32_t line) {
    enter(line);
    note::work(note::Processor::Unpack, "set_state");
    require_unlinked(noc);
    // Forms for one packet and for any length keep their state in the same registers, and differ in what they keep.
    constexpr uint32_t kOther[] = {VD_STATE_READ_PACKET, VD_STATE_READ, VD_STATE_WRITE_PACKET, VD_STATE_WRITE};
    if (command < std::size(kOther)) fiber->states[noc][kOther[command]].set = false;
    fiber->states[noc][command] = {address, bytes, value, true};
}

uint64_t vd_noc_state_address(uint32_t command, uint32_t noc, uint32_t low, uint32_t line) {
    enter(line);
    const CommandState& state = fiber->states[noc][command];
    if (!state.set) breach("noc-state", "a transfer with state, but no call of its form has set the state of NoC %u, or an ordinary transfer has replaced it", noc);
    return (state.address & ~0xFFFFFFFFull) | low;
}

uint64_t vd_noc_state_full_address(uint32_t command, uint32_t noc, uint32_t line) {
    return vd_noc_state_address(command, noc, static_cast<uint32_t>(fiber->states[noc][command].address), line);
}

uint32_t vd_noc_state_bytes(uint32_t command, uint32_t noc) { return fiber->states[noc][command].bytes; }
uint32_t vd_noc_state_value(uint32_t command, uint32_t noc) { return fiber->states[noc][command].value; }

void vd_noc_check_trid(uint32_t trid, uint32_t line) {
    enter(line);
    require_trid(static_cast<int32_t>(trid < kTrids ? trid : 0x7FFFFFFF));
}

void vd_noc_set_trid(bool write, uint32_t trid, uint32_t noc, uint32_t line) {
    vd_noc_check_trid(trid, line);
    (write ? fiber->write_trid : fiber->read_trid)[noc] = trid;
}

uint32_t vd_noc_trid(bool write, uint32_t noc) { return (write ? fiber->write_trid : fiber->read_trid)[noc]; }

void vd_poll(uint32_t line) {
    enter(line);
    poll();
    order_poll();
}

}  // extern "C"
