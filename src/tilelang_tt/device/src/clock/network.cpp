#include "network.h"

namespace vd::timing {

Network::Network(const Costs& costs, const ChipMap& map, Wormhole& ways)
    : map_(map),
      ways_(ways),
      hop_(costs.cycles("noc.hop")),
      niu_(costs.cycles("noc.interface")),
      bank_interval_(costs.cycles("dram.interval")),
      write_interval_(costs.cycles("dram.write_interval")),
      header_(costs.cycles("noc.header")),
      reserve_hop_(costs.cycles("noc.multicast_hop")),
      answer_(costs.cycles("noc.acknowledge")),
      link_rate_(costs.value("noc.link_rate")),
      bank_rate_(costs.value("dram.rate")),
      mixed_rate_(costs.value("dram.mixed_write_rate")) {
    for (uint32_t noc = 0; noc < kNocs; ++noc) {
        reservations_[noc].resize(std::size_t{2} * map.width * map.height);
        requests_[noc].resize(map.banks[noc].size());
    }
    target_at_.resize(std::size_t{map.width} * map.height);
    banks_.resize(map.banks[0].size());
    writers_.resize(map.banks[0].size(), ~0u);
}

// Hops from one place of a ring to another, in the direction of the NoC.
uint32_t Network::distance(uint32_t noc, uint32_t from, uint32_t to, uint32_t size) {
    const uint32_t ahead = noc == 0 ? to + size - from : from + size - to;
    return ahead >= size ? ahead - size : ahead;
}

// The tree of a multicast, as tt-isa-documentation describes it (X is the major axis): along the row to the rectangle, if
// its columns do not hold the sender; down that column; and from it along each row of the rectangle, round the ring, until
// all its columns are reached. `cross` takes a branch over one link, `reach` is called at each node of the rectangle.
template <typename Head, typename Cross, typename Reach>
void Network::each_link(uint32_t noc, Node from, Node first, Node last, Head head, Cross cross, Reach reach) {
    const uint32_t columns = distance(noc, first.x, last.x, map_.width), rows = distance(noc, first.y, last.y, map_.height);
    if (distance(noc, first.x, from.x, map_.width) > columns) {
        while (from.x != first.x) {
            if (!cross(head, from, false)) return;
        }
    }
    for (uint32_t row = 0;;) {
        if (distance(noc, first.y, from.y, map_.height) <= rows) {
            Node at = from;
            Head branch = head;
            for (uint32_t column = 0;;) {
                if (distance(noc, first.x, at.x, map_.width) <= columns) {
                    reach(branch, at);
                    if (column++ == columns) break;
                }
                if (!cross(branch, at, false)) return;
            }
            if (row++ == rows) return;
        }
        if (!cross(head, from, true)) return;
    }
}

void Network::carry_to_many(uint32_t noc, Node from, Node first, Node last, Time time, uint32_t bytes,
                            const std::vector<Node>& targets, std::vector<Time>& arrivals) {
    const Time duration = on_link(bytes);
    arrivals.assign(targets.size(), 0);
    for (std::size_t i = 0; i < targets.size(); ++i) target_at_[number(targets[i])] = static_cast<uint32_t>(i + 1);
    const auto over = [&](Time& head, Node& at, bool vertical) {
        link_bytes_[noc] += bytes;
        head = ways_.cross(noc, at, vertical, head, duration);
        return true;
    };
    const auto reach = [&](Time head, Node at) {
        const uint32_t target = target_at_[number(at)];
        if (target == 0) return;
        arrivals[target - 1] = ways_.enter(noc, at, head + niu_, duration) + duration;
    };
    each_link(noc, from, first, last, time + niu_, over, reach);
    for (const Node& target : targets) target_at_[number(target)] = 0;
}

uint32_t Network::depth(uint32_t noc, Node from, Node first, Node last) const {
    // Round the whole ring from a place in the middle, else from one end to the other.
    const auto along = [&](uint32_t at, uint32_t begin, uint32_t end, uint32_t size) {
        const uint32_t length = distance(noc, begin, end, size), on = distance(noc, begin, at, size);
        if (on == 0) return length;
        return on <= length ? size - 1 : size - on + length;
    };
    return along(from.x, first.x, last.x, map_.width) + along(from.y, first.y, last.y, map_.height);
}

uint32_t Network::reserve(uint32_t noc, Node from, Node first, Node last, Time time, Time until) {
    const uint32_t own = number(from);
    uint32_t failed = 0;
    const auto look = [&](uint32_t& depth, Node& at, bool vertical) {
        const Reservation& one = reservations_[noc][number(at) * 2 + (vertical ? 1 : 0)];
        ++depth;
        if (one.owner != own && one.until > time) failed = depth;
        map_.step(noc, at, vertical);
        return failed == 0;
    };
    const auto nobody = [](uint32_t, Node) {};
    each_link(noc, from, first, last, uint32_t{0}, look, nobody);
    if (failed != 0) until = time + static_cast<Time>(failed) * reserve_hop_;
    const auto mark = [&](uint32_t& depth, Node& at, bool vertical) {
        Reservation& one = reservations_[noc][number(at) * 2 + (vertical ? 1 : 0)];
        if (one.owner != own && one.until > time) return false;  // here it failed
        one = {until, own};
        ++depth;
        map_.step(noc, at, vertical);
        return true;
    };
    each_link(noc, from, first, last, uint32_t{0}, mark, nobody);
    return failed;
}

Time Network::answers(uint32_t noc, Node to, Time time, uint32_t count) {
    const Time duration = static_cast<Time>(count) * answer_;
    return ways_.enter(noc, to, time - duration, duration) + duration;
}

uint32_t Network::hop_count(uint32_t noc, Node from, Node to) const {
    return distance(noc, from.x, to.x, map_.width) + distance(noc, from.y, to.y, map_.height);
}

Time Network::hops(uint32_t noc, Node from, Node to) const {
    return 2 * niu_ + static_cast<Time>(hop_count(noc, from, to)) * hop_;
}

Time Network::serve_bank(uint32_t bank, uint32_t noc, Time time, uint32_t bytes, const Node* writer) {
    const Time taken = requests_[noc][bank].take(time, writer ? write_interval_ : bank_interval_);
    const uint32_t own = writer != nullptr ? number(*writer) : writers_[bank];
    const bool mixed = own != writers_[bank] && writers_[bank] != ~0u;
    writers_[bank] = own;
    const Time duration = of_bytes(bytes, mixed ? mixed_rate_ : bank_rate_);
    return banks_[bank].take(taken, duration) + duration;
}

}  // namespace vd::timing
