// What cores share: transfers over the NoC, DRAM banks, semaphores.
//
//     read     issue .. request arrives .. (bank or L1 serves it) .. data departs .. data arrives
//     write    issue .. data departs .. data arrives .. (bank) .. acknowledged
#include <algorithm>

#include "replay.h"

namespace vd::timing {
namespace {

uint64_t word_key(uint32_t core, uint32_t offset) { return uint64_t{core} << 32 | offset; }

bool is_signal(const Event& event) { return (event.flags & (kAtomic | kWord)) != 0; }

Group group_of(const Event& event) {
    if (event.kind == Kind::Read) return Group::Reads;
    return event.flags & kAtomic ? Group::Atomics : Group::Writes;
}

}  // namespace

uint32_t Replay::new_flight(const Lane& lane, uint32_t bytes) {
    uint32_t index;
    if (free_flights_.empty()) {
        index = static_cast<uint32_t>(flights_.size());
        flights_.emplace_back();
    } else {
        index = free_flights_.back();
        free_flights_.pop_back();
    }
    flights_[index] = {lane.event(), lane.number, lane.transfers, bytes, lane.time, lane.time};
    return index;
}

// A call gives the NoC one packet after the other.
void Replay::issue(Lane& lane) {
    const Event& event = lane.event();
    const Price& cost = price(event.key);
    const Node here = cores_[lane.core()].node;
    if (is_free(event)) return;
    lane.spend(cost.call + (event.flags & kPage ? fixed_.page : 0));
    for (uint32_t left = event.count; left != 0;) {
        const uint32_t bytes = left < packet_ ? left : packet_;
        left -= bytes;
        lane.spend(cost.item);
        ++lane.transfers;
        const uint32_t flight = new_flight(lane, bytes);
        UnderWay& group = lane.under_way[static_cast<uint32_t>(group_of(event))][event.id][event.trid];
        if (event.kind == Kind::Read || !(event.flags & kPosted)) ++group.open;
        if (event.kind == Kind::Read) {
            const Time arrival = lane.time + network_->hops(event.id, here, map_.at(event.place, event.id));
            schedule(arrival, Step::RequestArrives, lane.number, lane.transfers, flight);
        } else {
            ++lane.under_way[static_cast<uint32_t>(Group::Departures)][event.id][event.trid].open;
            schedule(lane.time, Step::WriteDeparts, lane.number, lane.transfers, flight);
        }
    }
}

bool Replay::barrier(Lane& lane, Group group, Cause cause) {
    const Event& event = lane.event();
    Time until = lane.time, issued = lane.time;
    for (uint32_t trid = 0; trid < kTrids; ++trid) {
        if (event.trid != kAllIds && event.trid != trid) continue;
        const UnderWay& one = lane.under_way[static_cast<uint32_t>(group)][event.id][trid];
        if (one.open != 0) return false;
        if (one.last <= until) continue;
        until = one.last;
        issued = one.issued;
    }
    lane.wait_until(until, cause, event.id, {lane.number, issued});
    lane.spend(price(event.key).item);
    return true;
}

void Replay::finish(const Flight& flight, Group group, Time time) {
    Lane& lane = lanes_[flight.lane];
    const Event& event = flight.event;
    lane.under_way[static_cast<uint32_t>(group)][event.id][event.trid].finish(time, flight.issued);
    if (lane.log != nullptr && group != Group::Departures) log_transfer(flight, time);
    constexpr Kind kBarriers[] = {Kind::ReadBarrier, Kind::WriteBarrier, Kind::Flush, Kind::AtomicBarrier};
    wake_in(lane, kBarriers[static_cast<uint32_t>(group)]);
}

// Blocks that come or go at no cost, in a replay that asks what if; signals are what they are.
bool Replay::is_free(const Event& event) const {
    return !is_signal(event) && event.value < free_buffers_.size() && free_buffers_[event.value];
}

void Replay::log_transfer(const Flight& flight, Time end) {
    const Event& event = flight.event;
    LogRow row;
    row.what = What::Transfer;
    row.start = flight.issued;
    row.end = end;
    row.release = flight.served;
    row.place = event.place;
    row.lane = flight.lane;
    row.line = event.line;
    row.count = event.kind == Kind::Multicast && is_signal(event) ? event.count : flight.bytes;
    row.key = event.key;
    row.id = event.id;
    row.cause = is_signal(event) ? 0 : static_cast<uint8_t>(event.value);
    log_.add(row);
}

void Replay::log_bank(const Flight& flight, Time served) {
    if (lanes_[flight.lane].log == nullptr) return;
    LogRow row;
    row.what = What::Bank;
    row.start = served - network_->of_bytes(flight.bytes, costs_.value("dram.rate"));
    row.end = served;
    row.lane = flight.lane;
    row.line = flight.event.line;
    row.count = flight.bytes;
    row.key = flight.event.key;
    row.id = static_cast<uint8_t>(flight.event.place & 0xff);
    log_.add(row);
}

void Replay::request_arrives(Time now, uint32_t flight) {
    Flight& one = flights_[flight];
    const Event& event = one.event;
    Time departure;
    if (event.place & kDram) {
        const Time served = network_->serve_bank(event.place & 0xffff, event.id, now, one.bytes);
        departure = served + fixed_.dram_read - network_->of_bytes(one.bytes, fixed_.link_rate);
        dram_bytes_ += one.bytes;
        log_bank(one, served);
    } else {
        Server& out = network_->out(event.id, map_.at(event.place, event.id));
        departure = out.take(now + fixed_.l1_read, network_->of_bytes(one.bytes, fixed_.read_rate));
    }
    one.served = departure;
    schedule(departure, Step::DataDeparts, one.lane, one.number, flight);
}

void Replay::data_departs(Time now, uint32_t flight) {
    const Flight one = flights_[flight];
    free_flights_.push_back(flight);
    Lane& lane = lanes_[one.lane];
    const uint32_t noc = one.event.id;
    const Time arrival = network_->carry(noc, map_.at(one.event.place, noc), cores_[lane.core()].node, now, one.bytes);
    finish(one, Group::Reads, arrival);
}

void Replay::write_departs(Time now, uint32_t flight) {
    if (flights_[flight].event.kind == Kind::Multicast) return multicast_departs(now, flight);
    const Flight one = flights_[flight];
    const Event& event = one.event;
    const Node here = cores_[lanes_[one.lane].core()].node, there = map_.at(event.place, event.id);
    const Time duration = network_->of_bytes(one.bytes, fixed_.write_rate);
    const Time start = network_->out(event.id, here).take(now, duration);
    const Time arrival = network_->carry(event.id, here, there, start, one.bytes);
    finish(one, Group::Departures, start + duration + fixed_.flush);
    if (event.place & kDram) {  // a bank takes bytes as they come
        const Time head = arrival - network_->of_bytes(one.bytes, fixed_.link_rate);
        return schedule(head, Step::WriteArrives, one.lane, one.number, flight);
    }
    if (is_signal(event)) {
        const uint32_t x = event.place & 0xff, y = event.place >> 8 & 0xff;
        const uint32_t core = core_at_[y * map_.columns.size() + x];
        if (core != 0) schedule(arrival, Step::WordArrives, one.lane, one.number, flight, core - 1);
        flights_[flight].bytes = 1;  // words that have not arrived
    }
    if (!(event.flags & kPosted)) {
        finish(one, group_of(event), arrival + fixed_.l1_write + network_->hops(event.id, there, here));
    }
    if (!is_signal(event)) free_flights_.push_back(flight);
}

void Replay::multicast_departs(Time now, uint32_t flight) {
    const Flight one = flights_[flight];
    const Event& event = one.event;
    Lane& lane = lanes_[one.lane];
    const Node here = cores_[lane.core()].node;
    const uint32_t noc = event.id;
    const uint32_t x0 = event.place & 0xff, y0 = event.place >> 8 & 0xff;
    const uint32_t x1 = event.place >> 16 & 0xff, y1 = event.place >> 24 & 0xff;
    std::vector<Node> nodes;
    std::vector<uint32_t> targets;
    for (uint32_t y = y0; y <= y1; ++y) {
        for (uint32_t x = x0; x <= x1; ++x) {
            const uint32_t core = core_at_[y * map_.columns.size() + x];
            if (core == 0 || (core - 1 == lane.core() && !(event.flags & kLoopback))) continue;
            nodes.push_back(map_.core(x, y));
            targets.push_back(core - 1);
        }
    }
    const Node low = map_.core(x0, y0), high = map_.core(x1, y1);
    const Node first = noc == 0 ? low : high, last = noc == 0 ? high : low;
    const Time duration = network_->of_bytes(one.bytes, fixed_.write_rate);
    MulticastPath& path = multicasts_[noc][here.y * map_.width + here.x];
    const bool linked = event.flags & kLinked, reserved = path.reserved;
    Time ready = now > path.free ? now : path.free;
    if (!reserved) {
        // The way is reserved up to the last core before any byte goes.
        const uint32_t way = network_->hop_count(noc, here, first) + network_->hop_count(noc, first, last);
        ready += fixed_.multicast + static_cast<Time>(way) * fixed_.multicast_hop;
    }
    const Time start = network_->out(noc, here).take(ready, duration);
    path = {start + duration, linked};
    std::vector<Time> arrivals;
    network_->carry_to_many(noc, here, first, last, start, one.bytes, !reserved, nodes, arrivals);
    Time acknowledged = start + duration;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const Time back = arrivals[i] + fixed_.l1_write + network_->hops(noc, nodes[i], here);
        acknowledged = back > acknowledged ? back : acknowledged;
        if (is_signal(event)) schedule(arrivals[i], Step::WordArrives, one.lane, one.number, flight, targets[i]);
    }
    // Every target answers for itself, and the sender hears one answer after the other.
    const Time answers = static_cast<Time>(targets.size()) * fixed_.ack;
    acknowledged = network_->acknowledgements(noc, here).take(acknowledged - answers, answers) + answers;
    flights_[flight].bytes = static_cast<uint32_t>(targets.size());  // words that have not arrived
    if (!is_signal(event) || targets.empty()) free_flights_.push_back(flight);
    finish(one, Group::Departures, start + duration + fixed_.flush);
    if (!(event.flags & kPosted)) finish(one, group_of(event), acknowledged);
}

void Replay::write_arrives(Time now, uint32_t flight) {
    const Flight one = flights_[flight];
    free_flights_.push_back(flight);
    const Event& event = one.event;
    const Lane& lane = lanes_[one.lane];
    const Node here = cores_[lane.core()].node;
    const Time served = std::max(network_->serve_bank(event.place & 0xffff, event.id, now, one.bytes, &here),
                                 now + network_->of_bytes(one.bytes, fixed_.link_rate));
    dram_bytes_ += one.bytes;
    log_bank(one, served);
    if (event.flags & kPosted) return;
    const Time back = network_->hops(event.id, map_.at(event.place, event.id), here);
    finish(one, Group::Writes, served + fixed_.dram_write + back);
}

// Whether everything that happened before this lane's present has been done; if not, the lane gets its turn later.
bool Replay::in_time_order(Lane& lane) {
    if (lane.in_order) {
        lane.in_order = false;
        return true;
    }
    ++lane.transfers;
    schedule(lane.time, Step::Lane, lane.number, lane.transfers, lane.number);
    return false;
}

bool Replay::wait_word(Lane& lane) {
    if (!in_time_order(lane)) return false;
    const Event& event = lane.event();
    Word& word = words_[word_key(lane.core(), event.offset)];
    const bool passes = event.kind == Kind::WaitLeast ? word.value >= event.value : word.value == event.value;
    if (!passes) {
        word.waiting.push_back(lane.number);
        return false;
    }
    lane.spend(price(event.key).item);
    return true;
}

void Replay::set_word(uint32_t core, uint32_t offset, uint32_t value, bool add, Time now, Origin origin) {
    Word& word = words_[word_key(core, offset)];
    word.value = add ? word.value + value : value;
    std::vector<uint32_t> waiting;
    waiting.swap(word.waiting);
    for (const uint32_t number : waiting) {
        Lane& lane = lanes_[number];
        const Event& event = lane.event();
        const bool passes = event.kind == Kind::WaitLeast ? word.value >= event.value : word.value == event.value;
        if (!passes) {
            words_[word_key(core, offset)].waiting.push_back(number);
            continue;
        }
        lane.wait_until(now, Cause::Semaphore, 0, origin);
        lane.in_order = true;
        wake(lane);
    }
}

void Replay::happen(const Moment& moment) {
    network_->set_now(moment.time);
    switch (moment.step) {
        case Step::Lane:
            lanes_[moment.index].in_order = true;
            return wake(lanes_[moment.index]);
        case Step::RequestArrives: return request_arrives(moment.time, moment.index);
        case Step::DataDeparts: return data_departs(moment.time, moment.index);
        case Step::WriteDeparts: return write_departs(moment.time, moment.index);
        case Step::WriteArrives: return write_arrives(moment.time, moment.index);
        case Step::WordArrives: {
            Flight& one = flights_[moment.index];
            set_word(moment.target, one.event.offset, one.event.value, one.event.flags & kAtomic, moment.time,
                     {one.lane, one.issued});
            if (--one.bytes == 0) free_flights_.push_back(moment.index);
            return;
        }
    }
}

}  // namespace vd::timing
