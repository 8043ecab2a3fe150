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
#include "event.h"

namespace vd::timing {

constexpr uint32_t kNocs = 2;

struct Node {
    uint32_t x = 0, y = 0;  // physical, as NoC 0 counts
};

// Where things lie on the chip.
struct ChipMap {
    uint32_t width = 0, height = 0;
    std::vector<uint32_t> columns, rows;   // physical, of the logical ones of compute cores
    std::vector<Node> banks[kNocs];        // at which node a bank answers on each NoC

    Node core(uint32_t x, uint32_t y) const { return {columns.at(x), rows.at(y)}; }
    Node at(uint64_t place, uint32_t noc) const {
        if (place & kDram) return banks[noc].at(place & 0xffff);
        return core(place & 0xff, place >> 8 & 0xff);
    }
};

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

// A link: packets are granted their time on it long before they come, so someone may still pass before those that were
// granted theirs. What lies before `now` is forgotten.
class Calendar {
public:
    // `change` is lost when the packet before came from somewhere else.
    Time take(Time time, Time duration, Time now, uint32_t source, Time change) {
        if (source != source_) duration += change;
        source_ = source;
        busy_ += duration;
        while (first_ < spans_.size() && spans_[first_].end <= now) ++first_;
        if (first_ > 32 && first_ * 2 > spans_.size()) {
            spans_.erase(spans_.begin(), spans_.begin() + static_cast<std::ptrdiff_t>(first_));
            first_ = 0;
        }
        std::size_t at = spans_.size();
        if (at != first_ && spans_.back().end > time) {
            const auto ends_later = [&](const Span& span) { return span.end > time; };
            const auto begin = spans_.begin() + static_cast<std::ptrdiff_t>(first_);
            at = static_cast<std::size_t>(std::partition_point(begin, spans_.end(), std::not_fn(ends_later)) - spans_.begin());
        }
        for (; at < spans_.size() && spans_[at].begin < time + duration; ++at) time = spans_[at].end;
        insert(at, time, time + duration);
        return time;
    }
    Time busy() const { return busy_; }

private:
    struct Span {
        Time begin, end;
    };
    // Between the spans before `at` and those from it on; neighbours that touch become one.
    void insert(std::size_t at, Time begin, Time end) {
        const bool left = at > first_ && spans_[at - 1].end == begin;
        const bool right = at < spans_.size() && spans_[at].begin == end;
        if (left && right) {
            spans_[at - 1].end = spans_[at].end;
            spans_.erase(spans_.begin() + static_cast<std::ptrdiff_t>(at));
        } else if (left) {
            spans_[at - 1].end = end;
        } else if (right) {
            spans_[at].begin = begin;
        } else {
            spans_.insert(spans_.begin() + static_cast<std::ptrdiff_t>(at), {begin, end});
        }
    }

    std::vector<Span> spans_;
    std::size_t first_ = 0;
    Time busy_ = 0;
    uint32_t source_ = ~0u;
};

class Network {
public:
    Network(const Costs& costs, const ChipMap& map);

    // The present: everything that is asked for later happens after it.
    void set_now(Time now) { now_ = now; }
    // A packet's head leaves `from` at `time`; when its last byte has arrived at `to`.
    Time carry(uint32_t noc, Node from, Node to, Time time, uint32_t bytes);
    // The same to a rectangle of compute cores; arrivals in the order of `targets`. A multicast that has to reserve
    // its way (`reserves`) holds the links until the whole tree has been reached: longer the more hops follow.
    void carry_to_many(uint32_t noc, Node from, Node first, Node last, Time time, uint32_t bytes, bool reserves,
                       const std::vector<Node>& targets, std::vector<Time>& arrivals);
    Time hops(uint32_t noc, Node from, Node to) const;  // time of an empty packet from end to end
    uint32_t hop_count(uint32_t noc, Node from, Node to) const;

    Server& out(uint32_t noc, Node at) { return out_[noc][number(at)]; }
    Server& acknowledgements(uint32_t noc, Node at) { return acks_[noc][number(at)]; }
    // A request reaches a DRAM bank: when its bytes are through the bank. Writes of several cores in turn are slower.
    Time serve_bank(uint32_t bank, uint32_t noc, Time time, uint32_t bytes, const Node* writer = nullptr);

    Time of_bytes(uint32_t bytes, double per_cycle) const {
        return Costs::ticks(static_cast<double>(bytes) / per_cycle);
    }

    // For the report.
    Time busiest_link(uint32_t noc) const;
    const std::vector<Server>& banks() const { return banks_; }
    uint64_t link_bytes(uint32_t noc) const { return link_bytes_[noc]; }

private:
    uint32_t number(Node at) const { return at.y * map_.width + at.x; }
    Calendar& link(uint32_t noc, Node at, bool vertical) { return links_[noc][number(at) * 2 + (vertical ? 1 : 0)]; }
    Calendar& in(uint32_t noc, Node at) { return in_[noc][number(at)]; }
    void step(uint32_t noc, Node& at, bool vertical) const;
    Time cross(uint32_t noc, Node& at, bool vertical, Time head, Time duration, uint32_t bytes);
    Time walk(uint32_t noc, Node& at, Node to, bool vertical, Time head, Time duration, uint32_t bytes, uint32_t rest = 0,
              Time held = 0);

    const ChipMap& map_;
    Time hop_, niu_, bank_interval_, write_interval_, hold_, hold_hop_, change_, now_ = 0;
    uint32_t source_ = 0;  // of the packet that is carried
    double link_rate_, bank_rate_, mixed_rate_;
    std::vector<uint32_t> writers_;  // the last of each bank
    std::vector<Calendar> links_[kNocs], in_[kNocs];
    std::vector<Server> out_[kNocs], acks_[kNocs], banks_, requests_[kNocs];
    uint64_t link_bytes_[kNocs] = {};
};

}  // namespace vd::timing
