// What cores share: transfers over the NoC, DRAM banks, semaphores.
//
//     read     issue .. request arrives .. (bank or L1 serves it) .. data departs .. data arrives
//     write    issue .. data departs .. data arrives .. (bank) .. acknowledged
#include <algorithm>

#include "replay.h"

namespace vd::timing {
namespace {

constexpr Time kForever = INT64_MAX / 2;

uint64_t word_key(uint32_t core, uint32_t offset) { return uint64_t{core} << 32 | offset; }

bool is_signal(const Event& event) { return (event.flags & (kAtomic | kWord)) != 0; }

Group group_of(const Event& event) {
    if (event.kind == Kind::Read || event.kind == Kind::Poll) return Group::Reads;
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
    flights_[index] = {lane.event(), lane.number, lane.transfers, bytes, false, lane.time, lane.time};
    return index;
}

// A call gives the NoC one packet after the other.
bool Replay::issue(Lane& lane) {
    const Event& event = lane.event();
    const Price& cost = price(event.key);
    if (is_free(event)) return true;
    if (lane.done == 0) {
        // Where a page lies is worked out again only if it is another place than before.
        const bool moved = event.flags & kPage && event.place != lane.place;
        lane.place = event.place;
        lane.spend(cost.call + (moved ? fixed_.page : 0));
    }
    const uint32_t bytes_of_it = bytes_ != 0 && !is_signal(event) ? bytes_ : event.count;
    while (lane.done < bytes_of_it) {
        if (event.kind == Kind::Multicast && !may_multicast(lane)) return false;
        const uint32_t left = bytes_of_it - lane.done, bytes = left < packet_ ? left : packet_;
        lane.done += bytes;
        lane.spend(std::max(cost.item, lane.may_issue - lane.time));
        lane.may_issue = lane.time + cost.gap;
        ++lane.transfers;
        const uint32_t flight = new_flight(lane, bytes);
        UnderWay& group = lane.under_way[static_cast<uint32_t>(group_of(event))][event.id][event.trid];
        if (event.kind == Kind::Read || !(event.flags & kPosted)) ++group.open;
        if (event.kind == Kind::Read) {
            schedule(lane.time, Step::RequestDeparts, lane.number, lane.transfers, flight);
        } else {
            ++lane.under_way[static_cast<uint32_t>(Group::Departures)][event.id][event.trid].open;
            schedule(lane.time, Step::WriteDeparts, lane.number, lane.transfers, flight);
        }
    }
    return true;
}

// The interface takes a multicast while the one before it still reserves its way, but no third.
bool Replay::may_multicast(Lane& lane) {
    const uint32_t noc = lane.event().id;
    const Node here = cores_[lane.core()].node;
    MulticastPath& path = multicasts_[noc][here.y * map_.width + here.x];
    if (path.issued - path.departed >= 2) return false;
    lane.wait_until(path.last_departure, Cause::Issue, static_cast<uint8_t>(noc), {lane.number, path.last_departure});
    ++path.issued;
    return true;
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
    if (group == Group::Reads) wake_in(lane, Kind::Poll);
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

void Replay::look_at_packet(Time time, uint32_t packet) { schedule(time, Step::Packet, 0, packet, packet); }
void Replay::look_at_lane(Time time, uint32_t lane) { schedule(time, Step::Wire, 0, lane, lane); }

void Replay::request_departs(Time now, uint32_t flight) {
    const Event& event = flights_[flight].event;
    const Node here = cores_[lanes_[flights_[flight].lane].core()].node;
    ways_->send(event.id, Wormhole::Kind::Request, here, map_.at(event.place, event.id), now, network_->on_link(0), flight,
                !(event.place & kDram));
}

void Replay::request_arrives(Time now, uint32_t flight) {
    Flight& one = flights_[flight];
    const Event& event = one.event;
    Time departure = now + fixed_.l1_read;
    if (event.kind == Kind::Poll) {
        const uint32_t core = core_at_[(event.place >> 8 & 0xff) * map_.columns.size() + (event.place & 0xff)];
        lanes_[one.lane].seen = words_[word_key(core - 1, event.offset)].changes >= event.value;
        departure += polled_[core - 1].take(now, fixed_.same_word) - now;
    }
    if (event.place & kDram) {
        const Time served = network_->serve_bank(event.place & 0xffff, event.id, now, one.bytes, nullptr);
        departure = served + fixed_.dram_read - network_->on_link(one.bytes);
        dram_bytes_ += one.bytes;
        log_bank(one, served);
        ways_->keep_from(event.id, map_.at(event.place, event.id), served - fixed_.dram_backlog);
    }
    one.served = departure;
    schedule(departure, Step::DataDeparts, one.lane, one.number, flight);
}

void Replay::data_departs(Time now, uint32_t flight) {
    Flight& one = flights_[flight];
    const Event& event = one.event;
    const Node here = cores_[lanes_[one.lane].core()].node, there = map_.at(event.place, event.id);
    one.answers = true;
    const bool dram = event.place & kDram;
    const Time length = dram ? network_->on_link(one.bytes) : network_->of_packet(one.bytes, fixed_.read_rate);
    ways_->send(event.id, Wormhole::Kind::Answer, there, here, now, length, flight);
}

// The last byte of a packet is out of the interface.
void Replay::left(uint32_t flight, Time time) {
    const Flight one = flights_[flight];
    const Event& event = one.event;
    if (event.kind == Kind::Write) return finish(one, Group::Departures, time + fixed_.flush);
    if (one.answers && !(event.place & kDram)) ways_->answered(event.id, map_.at(event.place, event.id), time);
}

void Replay::reached(uint32_t flight, Time head, Time length) {
    const Flight one = flights_[flight];
    if (one.event.kind == Kind::Write) return written(flight, head, length);
    if (!one.answers) return schedule(head, Step::RequestArrives, one.lane, one.number, flight);
    free_flights_.push_back(flight);
    finish(one, Group::Reads, head + length);
}

void Replay::write_departs(Time now, uint32_t flight) {
    if (flights_[flight].event.kind == Kind::Multicast) return multicast_departs(now, flight);
    const Flight& one = flights_[flight];
    const Event& event = one.event;
    const Node here = cores_[lanes_[one.lane].core()].node;
    const Time length = network_->on_link(one.bytes);
    ways_->send(event.id, Wormhole::Kind::Request, here, map_.at(event.place, event.id), now, length, flight);
}

void Replay::written(uint32_t flight, Time head, Time length) {
    const Flight one = flights_[flight];
    const Event& event = one.event;
    const Node here = cores_[lanes_[one.lane].core()].node, there = map_.at(event.place, event.id);
    const Time arrival = head + length;
    if (event.place & kDram) return schedule(head, Step::WriteArrives, one.lane, one.number, flight);  // as bytes come
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
    const uint32_t noc = flights_[flight].event.id;
    const Node here = cores_[lanes_[flights_[flight].lane].core()].node;
    const uint32_t sender = here.y * map_.width + here.x;
    MulticastPath& path = multicasts_[noc][sender];
    path.waiting.push_back(flight);
    if (path.waiting.size() != 1) return;
    if (now >= path.free) return multicast_next(now, noc, sender);
    schedule(path.free, Step::Multicast, flights_[flight].lane, flights_[flight].number, noc, sender);
}

// How long a sender whose reservation failed stays away: at random, up to twice as long each time. The numbers follow from
// the sender and how many it has drawn, so that every run has the same.
Time Replay::backoff(MulticastPath& path, uint32_t sender) {
    uint64_t mixed = (uint64_t{sender} << 32 | ++path.draws) * 0x9e3779b97f4a7c15ull;
    mixed ^= mixed >> 29;
    mixed *= 0xbf58476d1ce4e5b9ull;
    mixed ^= mixed >> 32;
    path.window = std::min(std::max(2 * path.window, fixed_.multicast_window), fixed_.multicast_windows);
    return static_cast<Time>(mixed % static_cast<uint64_t>(path.window + 1));
}

// The first multicast that waits at a sender reserves its way, or tries again later.
void Replay::multicast_next(Time now, uint32_t noc, uint32_t sender) {
    MulticastPath& path = multicasts_[noc][sender];
    const Flight one = flights_[path.waiting.front()];
    const uint32_t flight = path.waiting.front();
    const Event& event = one.event;
    const Lane& lane = lanes_[one.lane];
    const Node here = cores_[lane.core()].node;
    const uint32_t x0 = event.place & 0xff, y0 = event.place >> 8 & 0xff;
    const uint32_t x1 = event.place >> 16 & 0xff, y1 = event.place >> 24 & 0xff;
    const Node low = map_.core(x0, y0), high = map_.core(x1, y1);
    const Node first = noc == 0 ? low : high, last = noc == 0 ? high : low;
    const bool linked = event.flags & kLinked;
    const Time duration = network_->of_packet(one.bytes, fixed_.write_rate);
    Time ready = now;
    if (!path.reserved) {
        // The way is reserved up to the last core before any byte goes.
        const Time setup = static_cast<Time>(network_->depth(noc, here, first, last)) * fixed_.multicast_hop + fixed_.multicast;
        const Time until = linked ? kForever : now + setup + duration;
        if (const uint32_t failed = network_->reserve(noc, here, first, last, now, until); failed != 0) {
            const Time again = now + static_cast<Time>(failed) * fixed_.multicast_hop + backoff(path, sender);
            return schedule(again, Step::Multicast, one.lane, one.number, noc, sender);
        }
        path.window = 0;
        ready += setup;
    }
    const Time start = ways_->leave(noc, here, ready, duration);
    if (path.reserved && !linked) network_->reserve(noc, here, first, last, now, start + duration);
    path.free = start + duration + (linked ? 0 : fixed_.multicast_gap);
    path.reserved = linked;
    path.waiting.pop_front();
    ++path.departed;
    path.last_departure = start;
    Lane& sends = lanes_[one.lane];
    if (sends.blocked && sends.event().kind == Kind::Multicast) wake(sends);
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
    std::vector<Time> arrivals;
    network_->carry_to_many(noc, here, first, last, start, one.bytes, nodes, arrivals);
    Time acknowledged = start + duration;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const Time back = arrivals[i] + fixed_.l1_write + network_->hops(noc, nodes[i], here);
        acknowledged = back > acknowledged ? back : acknowledged;
        if (is_signal(event)) schedule(arrivals[i], Step::WordArrives, one.lane, one.number, flight, targets[i]);
    }
    // Every target answers for itself, and the sender hears one answer after the other.
    acknowledged = network_->answers(noc, here, acknowledged, static_cast<uint32_t>(targets.size()));
    flights_[flight].bytes = static_cast<uint32_t>(targets.size());  // words that have not arrived
    if (!is_signal(event) || targets.empty()) free_flights_.push_back(flight);
    finish(one, Group::Departures, start + duration + fixed_.flush);
    if (!(event.flags & kPosted)) finish(one, group_of(event), acknowledged);
    if (!path.waiting.empty()) schedule(path.free, Step::Multicast, one.lane, one.number, noc, sender);
}

void Replay::write_arrives(Time now, uint32_t flight) {
    const Flight one = flights_[flight];
    free_flights_.push_back(flight);
    const Event& event = one.event;
    const Lane& lane = lanes_[one.lane];
    const Node here = cores_[lane.core()].node;
    const Time served = std::max(network_->serve_bank(event.place & 0xffff, event.id, now, one.bytes, &here),
                                 now + network_->on_link(one.bytes));
    ways_->keep_from(event.id, map_.at(event.place, event.id), served - fixed_.dram_backlog);
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

// A core reads a word elsewhere again and again: as often as it takes until what the run saw is there.
bool Replay::poll(Lane& lane) {
    const Event& event = lane.event();
    UnderWay& reads = lane.under_way[static_cast<uint32_t>(Group::Reads)][event.id][event.trid];
    if (lane.done != 0) {
        if (reads.open != 0) return false;
        lane.wait_until(reads.last, Cause::Semaphore, event.id, {lane.number, reads.issued});
        lane.spend(fixed_.look);
        if (lane.seen) return true;
    }
    const Price& cost = price(event.key);
    lane.spend(std::max(cost.item, lane.may_issue - lane.time));
    lane.may_issue = lane.time + cost.gap;
    lane.done = 1;
    ++lane.transfers;
    ++reads.open;
    schedule(lane.time, Step::RequestDeparts, lane.number, lane.transfers, new_flight(lane, event.count));
    return false;
}

void Replay::set_word(uint32_t core, uint32_t offset, uint32_t value, bool add, Time now, Origin origin) {
    Word& word = words_[word_key(core, offset)];
    word.value = add ? word.value + value : value;
    ++word.changes;
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
    switch (moment.step) {
        case Step::Lane:
            lanes_[moment.index].in_order = true;
            return wake(lanes_[moment.index]);
        case Step::RequestArrives: return request_arrives(moment.time, moment.index);
        case Step::DataDeparts: return data_departs(moment.time, moment.index);
        case Step::WriteDeparts: return write_departs(moment.time, moment.index);
        case Step::RequestDeparts: return request_departs(moment.time, moment.index);
        case Step::Packet: return ways_->arrive(moment.index, moment.time);
        case Step::Wire: return ways_->free_lane(moment.index, moment.time);
        case Step::Multicast: return multicast_next(moment.time, moment.index, moment.target);
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
