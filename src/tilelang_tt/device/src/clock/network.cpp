#include "network.h"

namespace vd::timing {

Network::Network(const Costs& costs, const ChipMap& map)
    : map_(map),
      hop_(costs.cycles("noc.hop")),
      niu_(costs.cycles("noc.interface")),
      bank_interval_(costs.cycles("dram.interval")),
      write_interval_(costs.cycles("dram.write_interval")),
      hold_(costs.cycles("noc.multicast_hold")),
      hold_hop_(costs.cycles("noc.multicast_hold_hop")),
      change_(costs.cycles("noc.change")),
      link_rate_(costs.value("noc.link_rate")),
      bank_rate_(costs.value("dram.rate")),
      mixed_rate_(costs.value("dram.mixed_write_rate")) {
    for (uint32_t noc = 0; noc < kNocs; ++noc) {
        links_[noc].resize(std::size_t{2} * map.width * map.height);
        out_[noc].resize(std::size_t{map.width} * map.height);
        in_[noc].resize(std::size_t{map.width} * map.height);
        acks_[noc].resize(std::size_t{map.width} * map.height);
        requests_[noc].resize(map.banks[noc].size());
    }
    banks_.resize(map.banks[0].size());
    writers_.resize(map.banks[0].size(), ~0u);
}

void Network::step(uint32_t noc, Node& at, bool vertical) const {
    uint32_t& position = vertical ? at.y : at.x;
    const uint32_t size = vertical ? map_.height : map_.width;
    position = noc == 0 ? (position + 1 == size ? 0 : position + 1) : (position == 0 ? size - 1 : position - 1);
}

Time Network::cross(uint32_t noc, Node& at, bool vertical, Time head, Time duration, uint32_t bytes) {
    head = link(noc, at, vertical).take(head, duration, now_, source_, change_) + hop_;
    link_bytes_[noc] += bytes;
    step(noc, at, vertical);
    return head;
}

// Along one axis until the row or column of `to`; `rest` hops follow behind that. Each link is held for `held` more than
// the bytes take, and for every hop that is still to come.
Time Network::walk(uint32_t noc, Node& at, Node to, bool vertical, Time head, Time duration, uint32_t bytes, uint32_t rest,
                   Time held) {
    uint32_t left = 0;
    if (held != 0) {
        Node on = at;
        for (; vertical ? on.y != to.y : on.x != to.x; step(noc, on, vertical)) ++left;
    }
    while (vertical ? at.y != to.y : at.x != to.x) {
        const Time kept = held != 0 ? held + static_cast<Time>(left-- + rest) * hold_hop_ : 0;
        head = cross(noc, at, vertical, head, duration + kept, bytes);
    }
    return head;
}

Time Network::carry(uint32_t noc, Node from, Node to, Time time, uint32_t bytes) {
    const Time duration = of_bytes(bytes, link_rate_);
    const bool vertical_first = noc == 1;
    source_ = number(from);
    Time head = walk(noc, from, to, vertical_first, time + niu_, duration, bytes);
    head = walk(noc, from, to, !vertical_first, head, duration, bytes);
    return in(noc, to).take(head + niu_, duration, now_, source_, change_) + duration;
}

// A tree: to the first corner, along its row (column) of the rectangle, and from each node of that across.
void Network::carry_to_many(uint32_t noc, Node from, Node first, Node last, Time time, uint32_t bytes, bool reserves,
                            const std::vector<Node>& targets, std::vector<Time>& arrivals) {
    const Time duration = of_bytes(bytes, link_rate_), held = reserves ? hold_ : 0;
    const bool vertical_first = noc == 1;
    source_ = number(from);
    const uint32_t inside = hop_count(noc, first, last);
    const uint32_t turn = hop_count(noc, vertical_first ? Node{from.x, first.y} : Node{first.x, from.y}, first);
    // A sender inside its own rectangle goes round the ring that the tree will take: one way, not two.
    const bool within = hop_count(noc, first, from) + hop_count(noc, from, last) == inside;
    const Time approach = within ? 0 : held;
    Time head = walk(noc, from, first, vertical_first, time + niu_, duration, bytes, turn + inside, approach);
    head = walk(noc, from, first, !vertical_first, head, duration, bytes, inside, approach);
    const Node corner = vertical_first ? Node{first.x, last.y} : Node{last.x, first.y};  // where the spine ends
    arrivals.assign(targets.size(), 0);
    for (Node spine = first;;) {
        Node at = spine;
        for (Time branch = head;;) {
            for (std::size_t i = 0; i < targets.size(); ++i) {
                if (targets[i].x != at.x || targets[i].y != at.y) continue;
                arrivals[i] = in(noc, at).take(branch + niu_, duration, now_, source_, change_) + duration;
            }
            if (vertical_first ? at.x == last.x : at.y == last.y) break;
            const uint32_t left = hop_count(noc, at, vertical_first ? Node{last.x, at.y} : Node{at.x, last.y});
            const Time kept = held != 0 ? held + static_cast<Time>(left) * hold_hop_ : 0;
            branch = cross(noc, at, !vertical_first, branch, duration + kept, bytes);
        }
        if (vertical_first ? spine.y == last.y : spine.x == last.x) break;
        const uint32_t left = hop_count(noc, spine, corner) + hop_count(noc, corner, last);
        const Time kept = held != 0 ? held + static_cast<Time>(left) * hold_hop_ : 0;
        head = cross(noc, spine, vertical_first, head, duration + kept, bytes);
    }
}

uint32_t Network::hop_count(uint32_t noc, Node from, Node to) const {
    const uint32_t right = (to.x + map_.width - from.x) % map_.width;
    const uint32_t down = (to.y + map_.height - from.y) % map_.height;
    if (noc == 0) return right + down;
    return (map_.width - right) % map_.width + (map_.height - down) % map_.height;
}

Time Network::hops(uint32_t noc, Node from, Node to) const {
    return 2 * niu_ + static_cast<Time>(hop_count(noc, from, to)) * hop_;
}

Time Network::serve_bank(uint32_t bank, uint32_t noc, Time time, uint32_t bytes, const Node* writer) {
    const Time taken = requests_[noc][bank].take(time, writer ? write_interval_ : bank_interval_);
    const uint32_t own = writer ? number(*writer) : writers_[bank];
    const bool mixed = own != writers_[bank];
    writers_[bank] = own;
    const Time duration = of_bytes(bytes, mixed ? mixed_rate_ : bank_rate_);
    return banks_[bank].take(taken, duration) + duration;
}

Time Network::busiest_link(uint32_t noc) const {
    Time most = 0;
    for (const Calendar& one : links_[noc]) most = one.busy() > most ? one.busy() : most;
    return most;
}

}  // namespace vd::timing
