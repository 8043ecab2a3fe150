// The replay: when everything happened. A discrete-event simulation in which lanes run through their events as far as
// they can, and whatever several cores share (NoC, DRAM, semaphores) is done in the order of time. Equal times are
// ordered by lane, so that the result depends on nothing but the events and the costs.
#pragma once

#include <deque>
#include <istream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "lane.h"
#include "moments.h"

namespace vd::timing {

// A transfer between its issue and its end.
struct Flight {
    Event event;
    uint32_t lane = 0, number = 0, bytes = 0;
    bool answers = false;         // a read whose data are on their way
    Time issued = 0, served = 0;  // when it was issued; when the far end began to serve it
};

struct ZoneTime {
    uint16_t key;
    uint32_t lane;
    Time begin, end;
};

// The way of a sender's multicasts: those that have not left yet, when the last one is through, and whether its way stays
// reserved.
struct MulticastPath {
    std::deque<uint32_t> waiting;  // flights
    Time free = 0;
    uint64_t issued = 0, departed = 0;
    Time last_departure = 0;
    Time window = 0;     // in which the first that waits tries again
    uint32_t draws = 0;  // random numbers that were drawn
    bool reserved = false;
};

struct Word {
    uint32_t value = 0, changes = 0;
    std::vector<uint32_t> waiting;  // lanes
};

class Replay : private Wormhole::Owner {
public:
    explicit Replay(const char* setup);

    uint16_t key(const std::string& name);
    void append(uint32_t lane, const Event& event);
    uint32_t advance();  // see Library
    std::string report() const;
    void keep_log();  // from now on; before the first `advance`
    const Log& log() const { return log_; }
    void save(const std::string& path, bool first) const;  // all events; nothing must have been replayed yet

    const std::string& chip() const { return chip_; }
    std::vector<Lane>& lanes() { return lanes_; }
    const std::vector<CoreState>& cores() const { return cores_; }
    const std::vector<std::string>& key_names() const { return key_names_; }

private:
    // lanes.cpp
    bool process(Lane& lane);
    Time cb_latency(uint32_t lane) const;
    bool reserve(Lane& lane);
    bool wait_front(Lane& lane);
    bool acquire(Lane& lane);
    bool commit(Lane& lane);
    bool pack_wait(Lane& lane);
    bool release(Lane& lane);
    bool pump(CoreState& core, Lane& own);
    bool fill_one(CoreState& core, Lane& unpack);
    bool empty_one(CoreState& core, Lane& math);
    void skip_ahead(CoreState& core, Lane& unpack, Lane& math);
    void work(Lane& lane);
    void mark_zone(Lane& lane);
    void log_pages(const Lane& lane, What what);
    // transfers.cpp
    bool issue(Lane& lane);
    bool may_multicast(Lane& lane);
    bool barrier(Lane& lane, Group group, Cause cause);
    bool in_time_order(Lane& lane);
    bool wait_word(Lane& lane);
    bool poll(Lane& lane);
    void set_word(uint32_t core, uint32_t offset, uint32_t value, bool add, Time now, Origin origin);
    void pass_word(Lane& lane, Time now);
    void happen(const Moment& moment);
    void request_departs(Time now, uint32_t flight);
    void look_at_packet(Time time, uint32_t packet) override;
    void look_at_lane(Time time, uint32_t lane) override;
    void left(uint32_t flight, Time time) override;
    void reached(uint32_t flight, Time head, Time length) override;
    void written(uint32_t flight, Time head, Time length);
    void request_arrives(Time now, uint32_t flight);
    void data_departs(Time now, uint32_t flight);
    void write_departs(Time now, uint32_t flight);
    void multicast_departs(Time now, uint32_t flight);
    void multicast_next(Time now, uint32_t noc, uint32_t sender);
    Time backoff(MulticastPath& path, uint32_t sender);
    void write_arrives(Time now, uint32_t flight);
    void finish(const Flight& flight, Group group, Time time);
    void log_transfer(const Flight& flight, Time end);
    void log_bank(const Flight& flight, Time served);
    bool is_free(const Event& event) const;
    // alternatives.cpp
    bool read_alternative(const std::string& word, std::istream& words);
    bool costs_nothing(const std::string& name) const;

    void run(Lane& lane);
    void wake(Lane& lane);
    // A lane goes on if it is blocked in an event of this kind.
    void wake_in(Lane& lane, Kind kind) {
        if (lane.blocked && lane.event().kind == kind) wake(lane);
    }
    void wake_for_buffer(uint32_t core, uint8_t id, Kind kind);
    Lane& lane_of(uint32_t core, Processor processor) {
        return lanes_[core * kProcessors + static_cast<uint32_t>(processor)];
    }
    void schedule(Time time, Step step, uint32_t lane, uint32_t number, uint32_t index, uint32_t target = 0);
    uint32_t new_flight(const Lane& lane, uint32_t bytes);
    const Price& price(uint16_t key) const { return prices_[key]; }
    void set_prices();
    Time start_of(Processor processor) const;

    std::string chip_, setup_;
    Costs costs_;
    ChipMap map_;
    std::unique_ptr<Wormhole> ways_;
    std::unique_ptr<Network> network_;
    std::vector<CoreState> cores_;
    std::vector<Lane> lanes_;
    std::vector<uint32_t> core_at_;  // by logical place: index + 1
    std::vector<uint32_t> ready_, hungry_;
    Moments moments_;
    std::vector<Flight> flights_;
    std::vector<uint32_t> free_flights_;
    std::unordered_map<uint32_t, Server> polled_;  // by core
    std::unordered_map<uint64_t, Word> words_;
    std::vector<MulticastPath> multicasts_[kNocs];  // by sender
    std::vector<std::string> key_names_;
    std::unordered_map<std::string, uint16_t> keys_;
    std::mutex keys_mutex_;
    std::vector<Price> prices_;
    std::vector<ZoneTime> zones_;
    Log log_;
    std::vector<std::string> free_;       // beginnings of names that cost nothing
    std::vector<bool> free_buffers_;      // whose transfers cost nothing
    std::vector<std::pair<uint32_t, uint32_t>> logged_;  // cores; none: all
    uint64_t dram_bytes_ = 0;
    uint32_t packet_ = 0, bytes_ = 0;  // of all transfers, if somebody asked for it
    bool priced_ = false;
    struct {
        Time cb, cb_compute, l1_read, l1_write, dram_read, dram_write, flush, multicast, multicast_hop, multicast_window,
            multicast_windows, multicast_gap, page, dram_backlog, look, same_word;
        double read_rate, write_rate;
    } fixed_{};
};

}  // namespace vd::timing
