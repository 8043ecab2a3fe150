// How packets get from one network interface to another when they have to wait for each other.
//
// Routers forward a packet before they have all of it, so one that has to wait lies across several links and keeps them.
// Each link has a buffer behind it. What waits in it waits in the order of its arrival, whatever lies ahead of those
// behind: a busy interface blocks ways that lead elsewhere. Requests and answers have buffers of their own, and a packet
// that has crossed the edge of the torus uses another one, so that no ring of packets waits for itself.
#pragma once

#include <vector>

#include "costs.h"
#include "places.h"

namespace vd::timing {

class Wormhole {
public:
    enum class Kind : uint8_t { Request, Answer };

    // What it asks of the replay: to be called back at some time, and to hear of packets.
    class Owner {
    public:
        virtual void look_at_packet(Time time, uint32_t packet) = 0;  // later: Wormhole::arrive
        virtual void look_at_lane(Time time, uint32_t lane) = 0;      // later: Wormhole::free_lane
        virtual void left(uint32_t flight, Time time) = 0;            // its last byte has left the sender
        virtual void reached(uint32_t flight, Time head, Time length) = 0;

    protected:
        ~Owner() = default;
    };

    Wormhole(const Costs& costs, const ChipMap& map, Owner& owner);

    // A packet that takes `length` to pass a link wants to leave. One that asks for an answer stays in the interface it
    // reaches until `answered`, and few have room there.
    void send(uint32_t noc, Kind kind, Node from, Node to, Time now, Time length, uint32_t flight,
              bool asks = false);
    void arrive(uint32_t packet, Time now);
    void free_lane(uint32_t lane, Time now);
    // The interface is done with a request that it took in.
    void answered(uint32_t noc, Node at, Time now);
    // The interface takes no further request before `time`.
    void keep_from(uint32_t noc, Node at, Time time);

    // Multicasts have ways of their own, but share the wires.
    Time cross(uint32_t noc, Node& at, bool vertical, Time head, Time length);
    Time leave(uint32_t noc, Node at, Time now, Time length);
    Time enter(uint32_t noc, Node at, Time now, Time length);

    Time busiest(uint32_t noc) const;
    uint32_t number(Node at) const { return at.y * map_.width + at.x; }

private:
    static constexpr uint32_t kLongest = 48;  // links of a way
    enum Direction : uint32_t { Right, Down, Out, In };

    struct Wire {
        Time free = 0, busy = 0;
    };
    // A wire's lane for one kind of packets, and the buffer behind it.
    struct Lane {
        Time free = 0;                   // when the last packet was through, unless it is held
        Time filled = 0;                 // of the buffer, in time on the link
        Time looked = -1;                // when somebody will look at it next
        bool held = false;               // by a packet that cannot go on
        std::vector<uint32_t> waiting;   // packets, in order
        std::vector<uint32_t> inside;    // packets in the buffer that have not got their next link; few
    };
    struct Packet {
        uint32_t flight = 0;
        Time length = 0;
        uint16_t links = 0, next = 0, released = 0;
        bool asks = false;
        uint32_t way[kLongest];
        Time granted[kLongest], put[kLongest];  // when it got each link; how much of it lies in the buffer behind
    };

    uint32_t lane_of(uint32_t noc, uint32_t node, Direction direction, Kind kind, bool crossed) const {
        return (((noc * nodes_ + node) * 4 + direction) * 2 + static_cast<uint32_t>(kind)) * 2 + (crossed ? 1 : 0);
    }
    Wire& wire(uint32_t lane) { return wires_[lane >> 2]; }
    bool is_last(const Packet& packet) const { return packet.next + 1 == packet.links; }
    Time room(uint32_t lane) const { return (lane >> 2 & 3) == In && (lane >> 1 & 1) == 0 ? requests_ : buffer_; }
    Time travel(const Packet& packet, uint32_t link) const {
        return link == 0 || link + 1u == packet.links ? niu_ : hop_;
    }
    void find_way(Packet& packet, uint32_t noc, Kind kind, Node from, Node to) const;
    bool may_take(uint32_t lane, Time now);
    bool go_straight(Packet& packet, Time now);
    bool is_open(uint32_t lane, Time time);
    void take(uint32_t number, Time now);
    bool take_one(uint32_t number, Time now);
    void release(Packet& packet, Time now, bool all);
    void look(uint32_t lane, Time time);

    const ChipMap& map_;
    Owner& owner_;
    uint32_t nodes_;
    Time hop_, niu_, buffer_, foresight_, requests_;
    std::vector<Wire> wires_;
    std::vector<Lane> lanes_;
    std::vector<Packet> packets_;
    std::vector<uint32_t> free_packets_;
};

}  // namespace vd::timing
