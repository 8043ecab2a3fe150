#include "wormhole.h"

#include <algorithm>

namespace vd::timing {

Wormhole::Wormhole(const Costs& costs, const ChipMap& map, Owner& owner)
    : map_(map),
      owner_(owner),
      nodes_(map.width * map.height),
      hop_(costs.cycles("noc.hop")),
      niu_(costs.cycles("noc.interface")),
      buffer_(costs.cycles("noc.buffer")),
      foresight_(3 * hop_),
      requests_(costs.cycles("noc.requests")) {
    wires_.resize(std::size_t{kNocs} * nodes_ * 4);
    lanes_.resize(wires_.size() * 4);
}

void Wormhole::find_way(Packet& packet, uint32_t noc, Kind kind, Node from, Node to) const {
    packet.links = 0;
    packet.way[packet.links++] = lane_of(noc, number(from), Out, kind, false);
    for (const bool vertical : {noc == 1, noc == 0}) {
        bool crossed = false;
        while (vertical ? from.y != to.y : from.x != to.x) {
            packet.way[packet.links++] = lane_of(noc, number(from), vertical ? Down : Right, kind, crossed);
            crossed = map_.step(noc, from, vertical) || crossed;
        }
    }
    packet.way[packet.links++] = lane_of(noc, number(to), In, kind, false);
}

void Wormhole::send(uint32_t noc, Kind kind, Node from, Node to, Time now, Time length, uint32_t flight,
                    bool asks) {
    uint32_t index;
    if (free_packets_.empty()) {
        index = static_cast<uint32_t>(packets_.size());
        packets_.emplace_back();
    } else {
        index = free_packets_.back();
        free_packets_.pop_back();
    }
    Packet& packet = packets_[index];
    packet.flight = flight;
    packet.length = length;
    packet.next = packet.released = 0;
    packet.asks = asks;
    find_way(packet, noc, kind, from, to);
    if (go_straight(packet, now)) {
        free_packets_.push_back(index);
        return;
    }
    arrive(index, now);
}

// Nobody in the way: all of it at once.
bool Wormhole::go_straight(Packet& packet, Time now) {
    Time head = now;
    for (uint32_t link = 0; link < packet.links; ++link) {
        const uint32_t at = packet.way[link];
        const Lane& lane = lanes_[at];
        if (!is_open(at, head) || (lane.filled != 0 && link + 1u != packet.links)) return false;
        head += travel(packet, link);
    }
    head = now;
    for (uint32_t link = 0; link < packet.links; ++link) {
        const uint32_t at = packet.way[link];
        lanes_[at].free = wire(at).free = head + packet.length;
        wire(at).busy += packet.length;
        head += travel(packet, link);
    }
    if (packet.asks) lanes_[packet.way[packet.links - 1]].filled += kTicks;
    owner_.left(packet.flight, now + packet.length);
    owner_.reached(packet.flight, head, packet.length);
    return true;
}

bool Wormhole::may_take(uint32_t at, Time now) {
    Lane& lane = lanes_[at];
    if (lane.held || lane.filled >= room(at)) return false;
    const Time free = std::max(lane.free, wire(at).free);
    if (free <= now) return true;
    look(at, free);
    return false;
}

void Wormhole::look(uint32_t at, Time time) {
    Lane& lane = lanes_[at];
    if (lane.looked >= 0 && lane.looked <= time) return;
    lane.looked = time;
    owner_.look_at_lane(time, at);
}

// The head of a packet is where its next link begins, and it is the first in its buffer.
void Wormhole::arrive(uint32_t index, Time now) {
    Packet& packet = packets_[index];
    const uint32_t at = packet.way[packet.next];
    if (!lanes_[at].waiting.empty() || !may_take(at, now)) {
        lanes_[at].waiting.push_back(index);
        return;
    }
    take(index, now);
}

// Whether a packet that comes at `time` will find nobody there.
bool Wormhole::is_open(uint32_t at, Time time) {
    const Lane& lane = lanes_[at];
    return !lane.held && lane.free <= time && lane.filled < room(at) && lane.waiting.empty() && wire(at).free <= time;
}

void Wormhole::free_lane(uint32_t at, Time now) {
    Lane& lane = lanes_[at];
    if (lane.looked != now) return;
    lane.looked = -1;
    if (lane.waiting.empty()) return;
    const uint32_t first = lane.waiting.front();
    if (!may_take(at, now)) return;
    lane.waiting.erase(lane.waiting.begin());
    take(first, now);
    if (!lanes_[at].waiting.empty() && !lanes_[at].held) look(at, std::max(lanes_[at].free, wire(at).free));
}

// A packet gets its next link, and those behind it that are open.
void Wormhole::take(uint32_t index, Time now) {
    const Time last = now + foresight_;
    while (take_one(index, now)) {
        Packet& packet = packets_[index];
        const uint32_t link = packet.next - 1u;
        now += travel(packet, link);
        if (now <= last && is_open(packet.way[packet.next], now)) continue;
        return owner_.look_at_packet(now, index);
    }
}

// True if the packet is the first in the buffer it has come to.
bool Wormhole::take_one(uint32_t index, Time now) {
    Packet& packet = packets_[index];
    const uint32_t link = packet.next, at = packet.way[link];
    Lane& lane = lanes_[at];
    const bool last = is_last(packet);
    packet.granted[link] = now;
    wire(at).free = now + packet.length;
    wire(at).busy += packet.length;
    if (last) {
        if (packet.asks) lane.filled += kTicks;
        lane.held = false;
        lane.free = now + packet.length;
    } else {
        packet.put[link] = std::min(packet.length, buffer_ - lane.filled);
        lane.held = packet.length > buffer_ - lane.filled;
        lane.filled += packet.put[link];
        lane.free = now + packet.length;
        lane.inside.push_back(index);
    }
    ++packet.next;
    if (link != 0) {  // it leaves the buffer before this link
        const uint32_t before = packet.way[link - 1];
        Lane& buffer = lanes_[before];
        buffer.filled -= packet.put[link - 1];
        buffer.inside.erase(buffer.inside.begin());
        if (!buffer.inside.empty()) {
            const uint32_t following = buffer.inside.front();
            const Packet& other = packets_[following];
            const uint32_t had = other.next - 1u;
            owner_.look_at_packet(std::max(now + packet.length, other.granted[had] + travel(other, had)), following);
        }
    }
    release(packet, now, last);
    if (link != 0 && !lanes_[packet.way[link - 1]].waiting.empty() && !lanes_[packet.way[link - 1]].held) {
        look(packet.way[link - 1], std::max(now + packet.length, lanes_[packet.way[link - 1]].free));
    }
    if (last) {
        const Time head = now + travel(packet, link);
        const uint32_t flight = packet.flight;
        const Time length = packet.length;
        free_packets_.push_back(index);
        owner_.reached(flight, head, length);
        return false;
    }
    return lane.inside.front() == index;
}

// Links that its tail has passed, or will have passed at a time that is known now.
void Wormhole::release(Packet& packet, Time now, bool all) {
    const uint32_t at = packet.next - 1u;
    for (; packet.released <= at; ++packet.released) {
        const uint32_t link = packet.released;
        if (!all && packet.length > static_cast<Time>(at - link + 1) * buffer_) return;
        Lane& lane = lanes_[packet.way[link]];
        const Time rest = packet.length - static_cast<Time>(at - link) * buffer_;
        const Time through = std::max(packet.granted[link] + packet.length, now + std::max<Time>(rest, 0));
        if (link != at || all) {
            lane.held = false;
            lane.free = std::max(lane.free, through);
            if (!lane.waiting.empty()) look(packet.way[link], lane.free);
        }
        if (lanes_[packet.way[link]].held) return;  // it does not fit behind others
        if (link == 0) owner_.left(packet.flight, through);
    }
}

void Wormhole::answered(uint32_t noc, Node at, Time now) {
    const uint32_t number_of = lane_of(noc, number(at), In, Kind::Request, false);
    lanes_[number_of].filled -= kTicks;
    if (!lanes_[number_of].waiting.empty()) look(number_of, std::max(now, lanes_[number_of].free));
}

void Wormhole::keep_from(uint32_t noc, Node at, Time time) {
    Lane& lane = lanes_[lane_of(noc, number(at), In, Kind::Request, false)];
    if (lane.free < time) lane.free = time;
}

Time Wormhole::cross(uint32_t noc, Node& at, bool vertical, Time head, Time length) {
    Wire& one = wires_[(noc * nodes_ + number(at)) * 4 + (vertical ? Down : Right)];
    const Time start = std::max(head, one.free);
    one.free = start + length;
    one.busy += length;
    map_.step(noc, at, vertical);
    return start + hop_;
}

Time Wormhole::leave(uint32_t noc, Node at, Time now, Time length) {
    Wire& one = wires_[(noc * nodes_ + number(at)) * 4 + Out];
    const Time start = std::max(now, one.free);
    one.free = start + length;
    one.busy += length;
    return start;
}

Time Wormhole::enter(uint32_t noc, Node at, Time now, Time length) {
    Wire& one = wires_[(noc * nodes_ + number(at)) * 4 + In];
    const Time start = std::max(now, one.free);
    one.free = start + length;
    one.busy += length;
    return start;
}

Time Wormhole::busiest(uint32_t noc) const {
    Time most = 0;
    for (std::size_t i = noc * nodes_ * 4; i < (noc + 1) * nodes_ * 4; ++i) {
        if ((i & 3) < 2) most = std::max(most, wires_[i].busy);
    }
    return most;
}

}  // namespace vd::timing
