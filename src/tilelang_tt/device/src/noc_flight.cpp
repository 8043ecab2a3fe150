// Writes and atomics between issue and arrival, in launches whose cores talk to each other.
//
//     issued     the bytes still lie in the source
//     departed   the source may be reused; the bytes are in the NoC
//     landed     the target holds them
//
// What one kernel sends to one place over one virtual channel arrives in order on Wormhole. On Blackhole each
// command buffer has a queue of its own, so data and flag may overtake each other unless a flush stands between, or the
// two multicasts are linked. What a multicast gives back to its sender is there when the sender's writes are flushed: the
// SDK's matmul of sharded blocks goes on after a flush, pushes that block and resets its own flag.
// Without a seed everything arrives as late as it may; a seed draws the moments.
#include <algorithm>
#include <cstring>
#include <deque>

#include "circular_buffer.h"
#include "machine.h"
#include "order.h"

namespace vd {
namespace {

std::deque<Flight> flights;  // in the order of issue

// What one kernel has under way to one place over one virtual channel.
struct Queue {
    const Fiber* fiber;
    const Core* to;
    uint8_t noc, channel;
    uint32_t buffers = 0;  // a bit for each command buffer
    uint32_t flushes;      // fewest
    bool linked = false;

    bool has(const Flight& one) const {
        return fiber == one.fiber && to == one.to && noc == one.noc && channel == one.channel;
    }
    bool holds(const Flight& one) const {
        // A linked multicast holds its path for the one that follows it.
        return !device.chip.blackhole || buffers >> one.buffer & 1u || linked || flushes < one.flushes;
    }
};

// Those that nothing issued earlier holds up, in one pass: scalar code has thousands of writes under way.
void list_what_may_land(std::vector<std::size_t>& ready) {
    static std::vector<Queue> queues;
    queues.clear();
    ready.clear();
    for (std::size_t i = 0; i < flights.size(); ++i) {
        const Flight& one = flights[i];
        Queue* queue = nullptr;
        for (Queue& other : queues) {
            if (other.has(one)) queue = &other;
        }
        if (queue == nullptr || !queue->holds(one)) ready.push_back(i);
        if (queue == nullptr) {
            queues.push_back({one.fiber, one.to, one.noc, one.channel, 0, one.flushes, false});
            queue = &queues.back();
        }
        queue->buffers |= 1u << one.buffer;
        queue->flushes = std::min(queue->flushes, one.flushes);
        queue->linked = queue->linked || one.linked;
    }
}

void depart(Flight& flight) {
    if (flight.departed || flight.kind != Arrival::Write) return;
    if (carries(flight.bytes)) flight.data.assign(flight.source, flight.source + flight.bytes);
    flight.departed = true;
}

// The bytes reach a page of a circular buffer: somebody there must have reserved it, or use the buffer as plain memory.
void require_room_there(const Flight& flight) {
    uint32_t refused = kMaxCbs;
    for (const uint32_t id : flight.to->group->cb_ids) {
        const CbConfig& config = flight.to->group->cbs[id];
        CbState& state = flight.to->cbs[id];
        const uint64_t end = config.offset + static_cast<uint64_t>(config.pages) * config.page_bytes;
        if (flight.offset < config.offset || flight.offset + flight.bytes > end) continue;
        const uint32_t first = (flight.offset - config.offset) / config.page_bytes;
        const uint32_t last = (flight.offset + flight.bytes - 1 - config.offset) / config.page_bytes;
        const bool plain = state.producer == Role::Any && state.consumer == Role::Any;
        const bool fresh = state.pushed == 0 && state.reserved == 0;  // nobody has touched the buffer yet
        bool granted = true;
        for (uint32_t page = first; page <= last; ++page) {
            granted = granted && is_granted(page, state.write_page, state.reserved, config.pages);
        }
        if (!plain && !fresh && !granted) {
            refused = refused == kMaxCbs ? id : refused;
            continue;
        }
        for (uint32_t page = first; page <= last; ++page) {
            const uint32_t begin = config.offset + page * config.page_bytes, stop = begin + config.page_bytes;
            const uint32_t from = flight.offset > begin ? flight.offset : begin;
            const uint32_t to = flight.offset + flight.bytes < stop ? flight.offset + flight.bytes : stop;
            state.pages[page].landed += to - from;
        }
        return;
    }
    if (refused == kMaxCbs) return;
    const CbConfig& config = flight.to->group->cbs[refused];
    complain("cb-unreserved-write",
           "this write arrives in page %u of CB %u '%s' of core (%u,%u), which is not reserved there",
           (flight.offset - config.offset) / config.page_bytes, refused, config.name, flight.to->x, flight.to->y);
}

void arrive(Flight& flight) {
    if (flight.to && !is_semaphore(*flight.to, flight.offset, flight.bytes)) require_room_there(flight);
    order_arrival(flight);
    const bool signals = flight.to && is_semaphore(*flight.to, flight.offset, flight.bytes);
    uint32_t before = 0;
    if (signals) std::memcpy(&before, flight.target, sizeof before);
    switch (flight.kind) {
        case Arrival::Write:
            if (!carries(flight.bytes)) break;
            std::memmove(flight.target, flight.departed ? flight.data.data() : flight.source, flight.bytes);
            break;
        case Arrival::Add: {
            uint32_t value;
            std::memcpy(&value, flight.target, sizeof value);
            value += flight.value;
            std::memcpy(flight.target, &value, sizeof value);
            break;
        }
        case Arrival::Word: {
            uint32_t value;
            std::memcpy(&value, flight.target, sizeof value);
            value = (value & ~flight.mask) | (flight.value & flight.mask);
            std::memcpy(flight.target, &value, sizeof value);
            break;
        }
    }
    if (signals) note_signal(flight, before);
}

// A complaint at arrival names the call that sent the bytes.
void land(std::size_t index) {
    Flight flight = std::move(flights[index]);
    flights.erase(flights.begin() + static_cast<std::ptrdiff_t>(index));
    Core* const core_before = core;
    Fiber* const fiber_before = fiber;
    const uint32_t line_before = flight.fiber->line;
    core = flight.core;
    fiber = flight.fiber;
    fiber->line = flight.line;
    arrive(flight);
    fiber->line = line_before;
    core = core_before;
    fiber = fiber_before;
    flight.core->stirred = true;
    if (flight.to) flight.to->stirred = true;
}

bool belongs(const Flight& flight, const Fiber& owner, uint32_t noc, int32_t trid) {
    return flight.fiber == &owner && flight.noc == noc &&
           (trid == kAnyTrid || flight.trid == static_cast<uint32_t>(trid));
}

}  // namespace

// Without numbers nobody looks at what a long write brings, and when a short one arrives is the clock's business.
void launch_flight(Flight flight) {
    if (flight.kind == Arrival::Write && !carries(flight.bytes)) return;
    flight.flushes = fiber->flushes;
    flight.order = stamp_of_issue();
    flights.push_back(std::move(flight));
    if (device.numberless) land(flights.size() - 1);
}

bool land_any() {
    if (flights.empty()) return false;
    static std::vector<std::size_t> ready;
    list_what_may_land(ready);
    // Without a seed: the newest that may, so that what a kernel forgot to order comes out of order.
    land(device.seed != 0 ? ready[pick(static_cast<uint32_t>(ready.size()))] : ready.back());
    return true;
}

void land_now_and_then() {
    if (device.seed == 0 || flights.empty() || !chance(3)) return;
    if (chance(2)) {
        depart(flights[pick(static_cast<uint32_t>(flights.size()))]);
    } else {
        land_any();
    }
}

void depart_all(const Fiber& owner, uint32_t noc, int32_t trid) {
    for (Flight& flight : flights) {
        if (belongs(flight, owner, noc, trid)) depart(flight);
    }
}

void land_own_copies(const Fiber& owner, uint32_t noc, int32_t trid) {
    for (std::size_t i = 0; i < flights.size();) {
        const bool own = flights[i].to == flights[i].core && flights[i].channel == 1;
        if (own && belongs(flights[i], owner, noc, trid)) {
            land(i);
        } else {
            ++i;
        }
    }
}

void depart_from(const uint8_t* from, uint32_t bytes) {
    for (Flight& flight : flights) {
        if (flight.source < from + bytes && from < flight.source + flight.bytes) depart(flight);
    }
}

void leave_in_time(uint32_t offset, uint32_t bytes) {
    depart_from(core->l1 + offset, bytes);
    if (device.launch->connected()) return;
    for (Transfer& one : fiber->writes) {
        if (offset + bytes <= one.l1_offset || one.l1_offset + one.bytes <= offset) continue;
        if (carries(one.bytes)) std::memmove(one.target, one.source, one.bytes);
        one.source = one.target;  // what is flushed later changes nothing
    }
}

bool is_flying_from(const Fiber& owner, const uint8_t* from, uint32_t bytes) {
    for (const Flight& flight : flights) {
        if (flight.fiber != &owner || flight.kind != Arrival::Write) continue;
        if (flight.source < from + bytes && from < flight.source + flight.bytes) return true;
    }
    return false;
}

bool awaits(const Fiber& owner) {
    for (const Flight& flight : flights) {
        const bool kind = owner.wait_atomics == (flight.kind == Arrival::Add);
        if (kind && !flight.posted && belongs(flight, owner, owner.wait_noc, owner.wait_trid)) return true;
    }
    return false;
}

bool atomics_under_way(const Fiber& owner, uint32_t& line) {
    for (const Flight& flight : flights) {
        if (flight.fiber != &owner || flight.kind != Arrival::Add || flight.posted) continue;
        line = flight.line;
        return true;
    }
    return false;
}

bool signal_under_way(const Core& at, uint32_t offset, uint32_t& line, Core*& who) {
    for (const Flight& flight : flights) {
        if (flight.to != &at || flight.kind != Arrival::Add || flight.offset != offset) continue;
        line = flight.line;
        who = flight.core;
        return true;
    }
    return false;
}

bool write_under_way(const uint8_t* from, uint32_t bytes, uint32_t& line, Core*& who) {
    for (const Flight& flight : flights) {
        if (flight.to || flight.target >= from + bytes || from >= flight.target + flight.bytes) continue;
        line = flight.line;
        who = flight.core;
        return true;
    }
    return false;
}

void forget_flights() { flights.clear(); }

}  // namespace vd
