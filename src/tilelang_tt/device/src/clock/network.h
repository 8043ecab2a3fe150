// The two NoCs and the DRAM banks: where things lie, which links a packet takes, and who waits for whom.
//
// Both networks are tori. NoC 0 goes right, then down; NoC 1 up, then left. A packet occupies each link of its way for as
// long as its bytes take, one link a hop later than the one before. Ends (network interfaces) take and give bytes at
// their own rate; a DRAM bank is a queue with a rate and a least interval between requests of one NoC.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "costs.h"
#include "wormhole.h"

namespace vd::timing {

// A way of serving one after the other; remembers how long it was busy.
struct Server {
    Time free = 0, busy = 0;

    // From when on it serves someone who comes at `time`.
    Time take(Time time, Time duration) {
        const Time start = time > free ? time : free;
        free = start + duration;
        busy += duration;
        return start;
    }
};

class Network {
public:
    Network(const Costs& costs, const ChipMap& map, Wormhole& ways);

    // A packet to a rectangle of compute cores; arrivals in the order of `targets`.
    void carry_to_many(uint32_t noc, Node from, Node first, Node last, Time time, uint32_t bytes,
                       const std::vector<Node>& targets, std::vector<Time>& arrivals);
    // A multicast reserves all links of its tree before any byte goes. If somebody has one of them, those before it are
    // held until the news is back at the sender: how many hops away that was, or 0.
    uint32_t reserve(uint32_t noc, Node from, Node first, Node last, Time time, Time until);
    uint32_t depth(uint32_t noc, Node from, Node first, Node last) const;  // hops to the last node of the tree
    Time hops(uint32_t noc, Node from, Node to) const;  // time of an empty packet from end to end
    uint32_t hop_count(uint32_t noc, Node from, Node to) const;

    // So many answers to `to`, the last of which comes at `time` or, if they come too fast, later: they share the way
    // into the interface with everything else that arrives.
    Time answers(uint32_t noc, Node to, Time time, uint32_t count);
    // A request reaches a DRAM bank: when its bytes are through the bank. Writes of several cores in turn are slower.
    Time serve_bank(uint32_t bank, uint32_t noc, Time time, uint32_t bytes, const Node* writer);

    Time of_bytes(uint32_t bytes, double per_cycle) const {
        return Costs::ticks(static_cast<double>(bytes) / per_cycle);
    }

    // Of a packet: its bytes behind one header.
    Time of_packet(uint32_t bytes, double per_cycle) const { return header_ + of_bytes(bytes, per_cycle); }
    Time on_link(uint32_t bytes) const { return of_packet(bytes, link_rate_); }

    // For the report.
    Time busiest_link(uint32_t noc) const { return ways_.busiest(noc); }
    const std::vector<Server>& banks() const { return banks_; }
    uint64_t link_bytes(uint32_t noc) const { return link_bytes_[noc]; }

private:
    uint32_t number(Node at) const { return ways_.number(at); }
    template <typename Head, typename Cross, typename Reach>
    void each_link(uint32_t noc, Node from, Node first, Node last, Head head, Cross cross, Reach reach);
    static uint32_t distance(uint32_t noc, uint32_t from, uint32_t to, uint32_t size);

    const ChipMap& map_;
    Wormhole& ways_;
    Time hop_, niu_, bank_interval_, write_interval_, header_, reserve_hop_, answer_;
    double link_rate_, bank_rate_, mixed_rate_;
    std::vector<uint32_t> writers_;  // the last of each bank
    std::vector<Server> banks_, requests_[kNocs];
    std::vector<uint32_t> target_at_;  // of the multicast that is carried: 1 + its place among the targets
    struct Reservation {
        Time until = 0;
        uint32_t owner = ~0u;
    };
    std::vector<Reservation> reservations_[kNocs];  // of links, by multicasts
    uint64_t link_bytes_[kNocs] = {};
};

}  // namespace vd::timing
