// State of one processor of one core during the replay, and what processors of a core share.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "costs.h"
#include "event.h"
#include "log.h"
#include "network.h"

namespace vd::timing {

enum class Cause : uint8_t { Front, Room, Source, Dst, Reads, Writes, Flush, Atomics, Semaphore, Issue };
constexpr const char* kCauses[] = {"cb_wait_front",      "cb_reserve_back",      "source registers", "dst",
                                   "noc_read_barrier",   "noc_write_barrier",    "noc_writes_flushed",
                                   "noc_atomic_barrier", "semaphore", "noc busy"};

// Time by line of the kernel and, of waiting, by cause and circular buffer.
struct Place {
    uint32_t line = 0;
    Cause cause = Cause::Front;
    uint8_t id = 0;

    bool operator<(const Place& other) const {
        if (line != other.line) return line < other.line;
        return std::pair(cause, id) < std::pair(other.cause, other.id);
    }
    bool operator==(const Place& other) const { return line == other.line && cause == other.cause && id == other.id; }
};

class TimeByPlace {
public:
    void add(const Place& place, Time time) {
        Recent& recent = recent_[(place.line + 7u * static_cast<uint32_t>(place.cause) + place.id) % kRecent];
        if (!(recent.place == place)) {
            if (recent.time != 0) times_[recent.place] += recent.time;
            recent = {place, 0};
        }
        recent.time += time;
    }
    std::map<Place, Time> times() const {
        std::map<Place, Time> all = times_;
        for (const Recent& recent : recent_) {
            if (recent.time != 0) all[recent.place] += recent.time;
        }
        return all;
    }

private:
    static constexpr uint32_t kRecent = 32;
    struct Recent {  // what was added last and is not in the map yet
        Place place;
        Time time = 0;
    };
    std::map<Place, Time> times_;
    Recent recent_[kRecent];
};

// Transfers that a barrier may ask for.
struct UnderWay {
    uint32_t open = 0;
    Time last = 0;    // when the last of those that are through was
    Time issued = 0;  // when that one was issued

    void finish(Time time, Time start) {
        --open;
        if (time <= last) return;
        last = time;
        issued = start;
    }
};
enum class Group : uint8_t { Reads, Writes, Departures, Atomics };
constexpr uint32_t kGroups = 4, kTrids = 16;

// How much of something was done, and how long it took.
struct Use {
    uint64_t units = 0;  // calls, tiles or bytes
    Time time = 0;
};

struct Lane {
    uint32_t number = 0;
    Log* log = nullptr;  // if somebody asked for one
    std::vector<Event> queue;
    std::size_t head = 0;
    Time time = 0, busy = 0, waited = 0, begun = 0;
    uint32_t done = 0;        // units of the event at the head
    bool blocked = false, ended = false, ready = false, hungry = false;
    bool seen = false;        // what a poll waits for was there when it looked
    bool in_order = false;    // the event at the head has had its turn in the order of time
    uint32_t transfers = 0;
    uint64_t place = 0;       // of the last transfer
    Time may_issue = 0;       // when the interface takes the next one
    UnderWay under_way[kGroups][kNocs][kTrids];
    TimeByPlace work, waits;
    std::vector<Use> uses;  // by key
    std::vector<Time> open_zones;  // since when

    uint32_t core() const { return number / kProcessors; }
    Processor processor() const { return static_cast<Processor>(number % kProcessors); }
    bool empty() const { return head == queue.size(); }
    const Event& event() const { return queue[head]; }
    uint64_t units() const { return uint64_t{event().count} * event().items; }

    Use& use() {
        if (event().key >= uses.size()) uses.resize(event().key + 1u);
        return uses[event().key];
    }
    void spend(Time duration) { spend_steadily(duration, duration); }
    // Time in which a processor works and waits by turns.
    void spend_steadily(Time duration, Time of_it_busy) {
        if (log != nullptr && duration != 0) {
            LogRow working = row(What::Busy, time, time + duration);
            working.place = static_cast<uint64_t>(of_it_busy);
            log->span(working);
        }
        time += duration;
        busy += of_it_busy;
        use().time += of_it_busy;
        work.add({event().line, Cause::Front, 0}, of_it_busy);
    }
    void wait_until(Time until, Cause cause, uint8_t id, Origin origin) {
        if (until <= time) return;
        if (log != nullptr) {
            LogRow waiting = row(What::Wait, time, until);
            waiting.cause = static_cast<uint8_t>(cause);
            waiting.id = id;
            waiting.by = origin.lane;
            waiting.release = origin.time;
            log->span(waiting);
        }
        waited += until - time;
        waits.add({event().line, cause, id}, until - time);
        time = until;
    }
    LogRow row(What what, Time start, Time end) const {
        LogRow made;
        made.what = what;
        made.start = start;
        made.end = end;
        made.lane = number;
        made.line = event().line;
        made.key = event().key;
        return made;
    }
};

// How many pages had been pushed (popped) when; what nobody will ask for again is forgotten.
class Ledger {
public:
    uint64_t total() const { return total_; }
    void add(uint32_t pages, Time time) {
        total_ += pages;
        entries_.push_back({total_, time});
    }
    // When the total had reached `needed`, which it has.
    Time when(uint64_t needed) {
        while (first_ < entries_.size() && entries_[first_].first < needed) ++first_;
        if (first_ > 64 && first_ * 2 > entries_.size()) {
            entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(first_));
            first_ = 0;
        }
        return first_ < entries_.size() ? entries_[first_].second : 0;
    }

private:
    std::vector<std::pair<uint64_t, Time>> entries_;
    std::size_t first_ = 0;
    uint64_t total_ = 0;
};

struct Buffer {
    uint32_t pages = 0;
    uint32_t producer = kNobody, consumer = kNobody;  // lanes that pushed and popped last
    Ledger pushed, popped;
};

// Source registers: unpack fills a bank while math empties another. `ahead`: tiles that unpack may have begun before math
// is through with the first of them; two banks, and where the processor takes longer than the unpacker, one in its queue.
struct SourceBanks {
    static constexpr uint32_t kMost = 4;
    uint32_t ahead = 2;
    uint64_t filled = 0, emptied = 0;
    Time fill_end[kMost] = {}, empty_end[kMost] = {};

    uint32_t fills() const { return static_cast<uint32_t>(filled % ahead); }  // the place of the next one
    uint32_t empties() const { return static_cast<uint32_t>(emptied % ahead); }
};

// DST: two halves that math and pack take in turns, or one whole.
struct Dst {
    static constexpr uint32_t kRing = 4;
    uint32_t parts = 2;
    uint64_t acquired = 0, committed = 0, waited = 0, released = 0;
    Time commit_time[kRing] = {}, release_time[kRing] = {};
};

struct CoreState {
    uint32_t x = 0, y = 0;
    Node node;
    std::vector<Buffer> buffers;
    SourceBanks banks;
    Dst dst;
};

}  // namespace vd::timing
