#include "network.h"

namespace vd::timing {

Network::Network(const Costs& costs, const ChipMap& map)
    : map_(map),
      hop_(costs.cycles("noc.hop")),
      niu_(costs.cycles("noc.interface")),
      bank_interval_(costs.cycles("dram.interval")),
      link_rate_(costs.value("noc.link_rate")),
      bank_rate_(costs.value("dram.rate")) {
    for (uint32_t noc = 0; noc < kNocs; ++noc) {
        links_[noc].resize(std::size_t{2} * map.width * map.height);
        out_[noc].resize(std::size_t{map.width} * map.height);
        in_[noc].resize(std::size_t{map.width} * map.height);
        requests_[noc].resize(map.banks[noc].size());
    }
    banks_.resize(map.banks[0].size());
}

void Network::step(uint32_t noc, Node& at, bool vertical) const {
    uint32_t& position = vertical ? at.y : at.x;
    const uint32_t size = vertical ? map_.height : map_.width;
    position = noc == 0 ? (position + 1 == size ? 0 : position + 1) : (position == 0 ? size - 1 : position - 1);
}

// Along one axis until the row or column of `to`.
Time Network::walk(uint32_t noc, Node& at, Node to, bool vertical, Time head, Time duration, uint32_t bytes) {
    while (vertical ? at.y != to.y : at.x != to.x) {
        head = link(noc, at, vertical).take(head, duration) + hop_;
        link_bytes_[noc] += bytes;
        step(noc, at, vertical);
    }
    return head;
}

Time Network::carry(uint32_t noc, Node from, Node to, Time time, uint32_t bytes) {
    const Time duration = of_bytes(bytes, link_rate_);
    const bool vertical_first = noc == 1;
    Time head = walk(noc, from, to, vertical_first, time + niu_, duration, bytes);
    head = walk(noc, from, to, !vertical_first, head, duration, bytes);
    return in(noc, to).take(head + niu_, duration) + duration;
}

// A tree: to the first corner, along its row (column) of the rectangle, and from each node of that across.
void Network::carry_to_many(uint32_t noc, Node from, Node first, Node last, Time time, uint32_t bytes,
                            const std::vector<Node>& targets, std::vector<Time>& arrivals) {
    const Time duration = of_bytes(bytes, link_rate_);
    const bool vertical_first = noc == 1;
    Time head = walk(noc, from, first, vertical_first, time + niu_, duration, bytes);
    head = walk(noc, from, first, !vertical_first, head, duration, bytes);
    arrivals.assign(targets.size(), 0);
    for (Node spine = first;;) {
        Node at = spine;
        for (Time branch = head;;) {
            for (std::size_t i = 0; i < targets.size(); ++i) {
                if (targets[i].x != at.x || targets[i].y != at.y) continue;
                arrivals[i] = in(noc, at).take(branch + niu_, duration) + duration;
            }
            if (vertical_first ? at.x == last.x : at.y == last.y) break;
            branch = link(noc, at, !vertical_first).take(branch, duration) + hop_;
            link_bytes_[noc] += bytes;
            step(noc, at, !vertical_first);
        }
        if (vertical_first ? spine.y == last.y : spine.x == last.x) break;
        head = link(noc, spine, vertical_first).take(head, duration) + hop_;
        link_bytes_[noc] += bytes;
        step(noc, spine, vertical_first);
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

Time Network::serve_bank(uint32_t bank, uint32_t noc, Time time, uint32_t bytes) {
    const Time taken = requests_[noc][bank].take(time, bank_interval_);
    const Time duration = of_bytes(bytes, bank_rate_);
    return banks_[bank].take(taken, duration) + duration;
}

Time Network::busiest_link(uint32_t noc) const {
    Time most = 0;
    for (const Server& one : links_[noc]) most = one.busy > most ? one.busy : most;
    return most;
}

}  // namespace vd::timing
