// What a replay did when, row by row, for whoever asks: traces and the critical path are made of it (clock/log.py).
#pragma once

#include <cstdint>
#include <vector>

#include "costs.h"
#include "event.h"

namespace vd::timing {

enum class What : uint8_t {
    Busy,      // a processor works on events of `key`
    Wait,      // it waits because of `cause`; `by` ended the wait, by what it did at `release`
    Transfer,  // from its issue to its end; `release`: when the far end began to serve it
    Bank,      // DRAM bank `id` moves bytes
    Push,      // `count` pages of circular buffer `id`, at `start`
    Pop,
};

constexpr uint32_t kNobody = 0xffffffff;

// Who ended a wait, and when: a processor, at a time of its own.
struct Origin {
    uint32_t lane = kNobody;
    Time time = 0;
};

struct LogRow {
    Time start = 0, end = 0, release = 0;
    uint64_t place = 0;  // of a transfer; of Busy: how much of it was work
    uint32_t lane = 0, by = kNobody, line = 0, count = 0;  // `count`: pages or bytes
    uint16_t key = 0;
    What what = What::Busy;
    uint8_t cause = 0, id = 0, unused[3] = {};
};
static_assert(sizeof(LogRow) == 56, "Python reads files of these");

class Log {
public:
    // Spans of one processor that follow each other without a gap and say the same are one row.
    void span(const LogRow& row) {
        const std::size_t lane = row.lane;
        if (lane >= last_.size()) last_.resize(lane + 1, kNone);
        if (last_[lane] != kNone) {
            LogRow& last = rows_[last_[lane]];
            const bool same = last.what == row.what && last.line == row.line && last.key == row.key;
            if (same && row.what == What::Busy && last.end == row.start) {
                last.end = row.end;
                last.place += row.place;
                return;
            }
        }
        last_[lane] = rows_.size();
        rows_.push_back(row);
    }
    void add(const LogRow& row) { rows_.push_back(row); }
    const std::vector<LogRow>& rows() const { return rows_; }

private:
    static constexpr std::size_t kNone = ~std::size_t{0};
    std::vector<LogRow> rows_;
    std::vector<std::size_t> last_;
};

}  // namespace vd::timing
