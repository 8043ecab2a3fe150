// What the processors of one core do to each other: circular buffers, source registers, DST.
#include <algorithm>

#include "replay.h"

namespace vd::timing {
void Replay::wake_for_buffer(uint32_t core, uint8_t id, Kind kind) {
    for (uint32_t other = 0; other < kProcessors; ++other) {
        Lane& lane = lane_of(core, static_cast<Processor>(other));
        if (lane.blocked && lane.event().kind == kind && lane.event().id == id) wake(lane);
    }
}

void Replay::work(Lane& lane) {
    const Event& event = lane.event();
    const Price& cost = price(event.key);
    lane.spend(static_cast<Time>(event.count) * (static_cast<Time>(event.items) * cost.item + cost.call));
}

// Until others see that this lane pushed or popped.
Time Replay::cb_latency(uint32_t lane) const {
    const bool compute = lane != kNobody && lane % kProcessors >= static_cast<uint32_t>(Processor::Unpack);
    return compute ? fixed_.cb_compute : fixed_.cb;
}

bool Replay::reserve(Lane& lane) {
    const Event& event = lane.event();
    Buffer& buffer = cores_[lane.core()].buffers[event.id];
    const uint64_t needed = buffer.pushed.total() + event.count;
    if (needed > buffer.pages) {
        if (buffer.popped.total() < needed - buffer.pages) return false;
        const Time popped = buffer.popped.when(needed - buffer.pages);
        lane.wait_until(popped + cb_latency(buffer.consumer), Cause::Room, event.id, {buffer.consumer, popped});
    }
    lane.spend(price(event.key).item);
    return true;
}

bool Replay::wait_front(Lane& lane) {
    const Event& event = lane.event();
    Buffer& buffer = cores_[lane.core()].buffers[event.id];
    const uint64_t needed = buffer.popped.total() + event.count;
    if (buffer.pushed.total() < needed) return false;
    const Time pushed = buffer.pushed.when(needed);
    lane.wait_until(pushed + cb_latency(buffer.producer), Cause::Front, event.id, {buffer.producer, pushed});
    lane.spend(price(event.key).item);
    return true;
}

bool Replay::acquire(Lane& lane) {
    Dst& dst = cores_[lane.core()].dst;
    if (dst.acquired >= dst.parts) {
        const uint64_t before = dst.acquired - dst.parts;
        if (dst.released <= before) return false;
        const Time released = dst.release_time[before % Dst::kRing];
        lane.wait_until(released, Cause::Dst, 0, {lane.number + 1, released});
    }
    ++dst.acquired;
    lane.spend(price(lane.event().key).item);
    return true;
}

bool Replay::commit(Lane& lane) {
    Dst& dst = cores_[lane.core()].dst;
    lane.spend(price(lane.event().key).item);
    dst.commit_time[dst.committed++ % Dst::kRing] = lane.time;
    wake_in(lane_of(lane.core(), Processor::Pack), Kind::PackWait);
    return true;
}

bool Replay::pack_wait(Lane& lane) {
    Dst& dst = cores_[lane.core()].dst;
    if (dst.committed <= dst.waited) return false;
    const Time committed = dst.commit_time[dst.waited++ % Dst::kRing];
    lane.wait_until(committed, Cause::Dst, 0, {lane.number - 1, committed});
    lane.spend(price(lane.event().key).item);
    return true;
}

// What a call costs besides is paid when math may already go on.
bool Replay::release(Lane& lane) {
    Dst& dst = cores_[lane.core()].dst;
    const Price& cost = price(lane.event().key);
    lane.spend(cost.item);
    dst.release_time[dst.released++ % Dst::kRing] = lane.time;
    lane.spend(cost.call);
    wake_in(lane_of(lane.core(), Processor::Math), Kind::Acquire);
    return true;
}

// Of one unit, with its share of what a call costs besides: operands that are loaded once and used several times.
static Time unit_cost(const Price& cost, const Event& event) {
    return cost.item + cost.call * static_cast<Time>(event.value != 0 ? event.value : 1) / event.items;
}

// Unpack fills one bank, if one is empty.
bool Replay::fill_one(CoreState& core, Lane& unpack) {
    SourceBanks& banks = core.banks;
    if (banks.filled >= banks.emptied + banks.ahead) return false;
    const uint32_t bank = banks.fills();
    const Event& event = unpack.event();
    const Origin math{unpack.number + 1, banks.empty_end[bank]};
    if (banks.filled >= banks.ahead) unpack.wait_until(banks.empty_end[bank], Cause::Source, 0, math);
    const Price& cost = price(event.key);
    unpack.spend(unit_cost(cost, event));
    banks.fill_end[bank] = unpack.time;
    ++banks.filled;
    ++unpack.done;
    return true;
}

bool Replay::empty_one(CoreState& core, Lane& math) {
    SourceBanks& banks = core.banks;
    if (banks.emptied == banks.filled) return false;
    const uint32_t bank = banks.empties();
    const Event& event = math.event();
    math.wait_until(banks.fill_end[bank], Cause::Source, 0, {math.number - 1, banks.fill_end[bank]});
    const Price& cost = price(event.key);
    math.spend(unit_cost(cost, event));
    banks.empty_end[bank] = math.time;
    ++banks.emptied;
    ++math.done;
    return true;
}

namespace {

struct Rhythm {
    Time unpack, math, unpack_busy, unpack_wait, math_busy, math_wait;
    SourceBanks banks;

    static Rhythm of(const SourceBanks& banks, const Lane& unpack, const Lane& math) {
        return {unpack.time, math.time, unpack.busy, unpack.waited, math.busy, math.waited, banks};
    }
    // How much later everything is than in `before`; -1 when not everything by the same time.
    Time since(const Rhythm& before) const {
        const Time period = unpack - before.unpack;
        bool same = math - before.math == period;
        for (uint32_t i = 0; i < banks.ahead; ++i) {
            same = same && banks.fill_end[i] - before.banks.fill_end[i] == period &&
                   banks.empty_end[i] - before.banks.empty_end[i] == period;
        }
        return same ? period : -1;
    }
};

}  // namespace

// Long runs of equal units fall into a rhythm: once two rounds (a unit for each bank) have taken the same time, so will all
// the others.
void Replay::skip_ahead(CoreState& core, Lane& unpack, Lane& math) {
    SourceBanks& banks = core.banks;
    const uint32_t units = banks.ahead;
    const auto round = [&] {
        for (uint32_t i = 0; i < units; ++i) {
            if (!fill_one(core, unpack)) empty_one(core, math), fill_one(core, unpack);
        }
        while (math.done < math.units() && banks.filled - banks.emptied > 1) empty_one(core, math);
    };
    while (unpack.done + 4 * units < unpack.units() && math.done + 4 * units < math.units()) {
        round();
        const Rhythm first = Rhythm::of(banks, unpack, math);
        round();
        const Rhythm second = Rhythm::of(banks, unpack, math);
        const Time period = second.since(first);
        if (period < 0) continue;
        const uint64_t left = std::min(unpack.units() - unpack.done, math.units() - math.done);
        const Time rounds = static_cast<Time>((left - units) / units);
        const auto forward = [&](Lane& lane, Time busy, Time waited) {
            lane.spend_steadily(rounds * period, rounds * busy);
            lane.waited += rounds * waited;
            lane.done += static_cast<uint32_t>(rounds) * units;
            lane.waits.add({lane.event().line, Cause::Source, 0}, rounds * waited);
        };
        forward(unpack, second.unpack_busy - first.unpack_busy, second.unpack_wait - first.unpack_wait);
        forward(math, second.math_busy - first.math_busy, second.math_wait - first.math_wait);
        for (uint32_t bank = 0; bank < units; ++bank) {
            banks.fill_end[bank] += rounds * period;
            banks.empty_end[bank] += rounds * period;
        }
        banks.filled += static_cast<uint64_t>(rounds) * units;
        banks.emptied += static_cast<uint64_t>(rounds) * units;
        return;
    }
}

// Unpack and math go on together as far as they can; true when the event of `own` is done.
bool Replay::pump(CoreState& core, Lane& own) {
    const bool fills = own.processor() == Processor::Unpack;
    Lane& other = lane_of(own.core(), fills ? Processor::Math : Processor::Unpack);
    const Kind wanted = fills ? Kind::Math : Kind::Unpack;
    const bool both = other.blocked && !other.empty() && other.event().kind == wanted;
    Lane& unpack = fills ? own : other;
    Lane& math = fills ? other : own;
    const uint64_t handed = core.banks.filled + core.banks.emptied;
    if (both) skip_ahead(core, unpack, math);
    for (bool moved = true; moved;) {
        moved = false;
        while ((fills || both) && unpack.done < unpack.units() && fill_one(core, unpack)) moved = true;
        while ((!fills || both) && math.done < math.units() && empty_one(core, math)) moved = true;
    }
    if (core.banks.filled + core.banks.emptied != handed) wake_in(other, wanted);
    return own.done == own.units();
}

void Replay::log_pages(const Lane& lane, What what) {
    LogRow row = lane.row(what, lane.time, lane.time);
    row.id = lane.event().id;
    row.count = lane.event().count;
    lane.log->add(row);
}

// The time is taken first; storing it is part of the zone.
void Replay::mark_zone(Lane& lane) {
    const Event& event = lane.event();
    const Time cost = price(event.key).item;
    if (event.kind == Kind::ZoneBegin) {
        lane.open_zones.push_back(lane.time);
        lane.spend(cost);
        return;
    }
    if (!lane.open_zones.empty()) {
        zones_.push_back({event.key, lane.number, lane.open_zones.back(), lane.time});
        lane.open_zones.pop_back();
    }
    lane.spend(cost);
}

bool Replay::process(Lane& lane) {
    const Event& event = lane.event();
    CoreState& core = cores_[lane.core()];
    switch (event.kind) {
        case Kind::Work: work(lane); return true;
        case Kind::Unpack:
        case Kind::Math: return pump(core, lane);
        case Kind::Reserve: return reserve(lane);
        case Kind::Wait: return wait_front(lane);
        case Kind::Push:
        case Kind::Pop: {
            lane.spend(price(event.key).item);
            Buffer& buffer = core.buffers[event.id];
            const bool pushes = event.kind == Kind::Push;
            (pushes ? buffer.pushed : buffer.popped).add(event.count, lane.time);
            (pushes ? buffer.producer : buffer.consumer) = lane.number;
            if (lane.log != nullptr) log_pages(lane, pushes ? What::Push : What::Pop);
            wake_for_buffer(lane.core(), event.id, pushes ? Kind::Wait : Kind::Reserve);
            return true;
        }
        case Kind::Acquire: return acquire(lane);
        case Kind::Commit: return commit(lane);
        case Kind::PackWait: return pack_wait(lane);
        case Kind::Release: return release(lane);
        case Kind::Read:
        case Kind::Write:
        case Kind::Multicast: return issue(lane);
        case Kind::ReadBarrier: return barrier(lane, Group::Reads, Cause::Reads);
        case Kind::WriteBarrier: return barrier(lane, Group::Writes, Cause::Writes);
        case Kind::Flush: return barrier(lane, Group::Departures, Cause::Flush);
        case Kind::AtomicBarrier: return barrier(lane, Group::Atomics, Cause::Atomics);
        case Kind::WaitEqual:
        case Kind::WaitLeast: return wait_word(lane);
        case Kind::Poll: return poll(lane);
        case Kind::Set:
            if (!in_time_order(lane)) return false;
            lane.spend(price(event.key).item);
            set_word(lane.core(), event.offset, event.value, event.flags & kAtomic, lane.time, {lane.number, lane.time});
            return true;
        case Kind::ZoneBegin:
        case Kind::ZoneEnd: mark_zone(lane); return true;
        case Kind::End: lane.ended = true; return true;
    }
    return true;
}

}  // namespace vd::timing
