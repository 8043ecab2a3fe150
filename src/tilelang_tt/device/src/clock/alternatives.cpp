// What if: words that a replay of a record may add to what was recorded.
//
//   free <beginning>       calls whose name begins so cost nothing
//   free_buffer <id>       transfers from and to circular buffer <id> cost nothing
//   pages <id> <n>         circular buffer <id> has <n> pages
//   dst <parts>            DST is one whole, or two halves
//   bytes <n>              every transfer that is no signal has <n> bytes
//   rows <n> <...>         where the rows (columns) of compute cores lie: another card
//   log_core <x> <y>       a log is kept of this core (of all, if no core is named)
#include "replay.h"

namespace vd::timing {

bool Replay::read_alternative(const std::string& word, std::istream& words) {
    uint32_t id = 0, number = 0;
    if (word == "free") {
        std::string beginning;
        words >> beginning;
        free_.push_back(beginning);
    } else if (word == "free_buffer") {
        words >> id;
        if (id + 1 >= free_buffers_.size()) free_buffers_.resize(id + 2, false);
        free_buffers_[id + 1] = true;
    } else if (word == "pages") {
        words >> id >> number;
        for (CoreState& core : cores_) {
            if (core.buffers.at(id).pages != 0) core.buffers[id].pages = number;
        }
    } else if (word == "dst") {
        words >> number;
        for (CoreState& core : cores_) core.dst.parts = number;
    } else if (word == "bytes") {
        words >> bytes_;
    } else if (word == "log_core") {
        words >> id >> number;
        logged_.push_back({id, number});
    } else {
        return false;
    }
    return true;
}

bool Replay::costs_nothing(const std::string& name) const {
    for (const std::string& beginning : free_) {
        if (name.compare(0, beginning.size(), beginning) != 0) continue;
        if (name.size() == beginning.size() || name[beginning.size()] == '.') return true;
    }
    return false;
}

void Replay::keep_log() {
    for (Lane& lane : lanes_) {
        const CoreState& core = cores_[lane.core()];
        bool wanted = logged_.empty();
        for (const auto& [x, y] : logged_) wanted = wanted || (core.x == x && core.y == y);
        lane.log = wanted ? &log_ : nullptr;
    }
}

}  // namespace vd::timing
