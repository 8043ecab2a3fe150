// The doors of the library: one for the runner (Library), one for Python, which replays records with other costs.
//
// A record is a file: "ttclock1\n", then for each launch: bytes of the setup (u32), the setup, keys (u32), for each its
// length (u32) and text; lanes (u32), for each the number of events (u64) and the events.
#include "library.h"

#include <cstdio>
#include <cstring>
#include <fstream>

#include "replay.h"

namespace vd::timing {
namespace {

constexpr char kMagic[] = "ttclock1\n";

std::string last_report, last_error;

void put(std::ofstream& out, uint32_t value) { out.write(reinterpret_cast<const char*>(&value), sizeof value); }
void put(std::ofstream& out, const std::string& text) {
    put(out, static_cast<uint32_t>(text.size()));
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

bool get(std::ifstream& in, uint32_t& value) {
    return static_cast<bool>(in.read(reinterpret_cast<char*>(&value), sizeof value));
}
bool get(std::ifstream& in, std::string& text) {
    uint32_t size = 0;
    if (!get(in, size)) return false;
    text.resize(size);
    return static_cast<bool>(in.read(text.data(), size));
}

struct LaunchRecord {
    std::string setup;
    std::vector<std::string> keys;
    std::vector<std::vector<Event>> lanes;
};
using Record = std::vector<LaunchRecord>;

bool read_launch(std::ifstream& in, LaunchRecord& launch) {
    if (!get(in, launch.setup)) return false;
    uint32_t count = 0;
    get(in, count);
    launch.keys.resize(count);
    for (std::string& key : launch.keys) get(in, key);
    get(in, count);
    launch.lanes.resize(count);
    for (std::vector<Event>& lane : launch.lanes) {
        uint64_t events = 0;
        in.read(reinterpret_cast<char*>(&events), sizeof events);
        lane.resize(events);
        in.read(reinterpret_cast<char*>(lane.data()), static_cast<std::streamsize>(events * sizeof(Event)));
    }
    return static_cast<bool>(in);
}

// The log of a launch: names of keys (number, then length and text of each), cores (number, then x and y of each), rows
// (number, then the rows).
void write_log(std::ofstream& out, const Replay& replay) {
    put(out, static_cast<uint32_t>(replay.key_names().size()));
    for (const std::string& name : replay.key_names()) put(out, name);
    put(out, static_cast<uint32_t>(replay.cores().size()));
    for (const CoreState& core : replay.cores()) {
        put(out, core.x);
        put(out, core.y);
    }
    const std::vector<LogRow>& rows = replay.log().rows();
    put(out, static_cast<uint32_t>(rows.size()));
    out.write(reinterpret_cast<const char*>(rows.data()), static_cast<std::streamsize>(rows.size() * sizeof(LogRow)));
    if (!out) throw std::runtime_error("cannot write the log of the replay");
}

std::string replay_launch(const LaunchRecord& launch, const char* costs, std::string& chip, std::ofstream* log) {
    Replay replay((launch.setup + "\n" + costs).c_str());
    for (const std::string& key : launch.keys) replay.key(key);
    for (std::size_t lane = 0; lane < launch.lanes.size(); ++lane) replay.lanes()[lane].queue = launch.lanes[lane];
    if (log != nullptr) replay.keep_log();
    replay.advance();
    if (log != nullptr) write_log(*log, replay);
    chip = replay.chip();
    return replay.report();
}

// No exception leaves the library.
template <typename Result, typename Action>
Result guarded(Result failed, Action action) {
    try {
        return action();
    } catch (const std::exception& problem) {
        last_error = problem.what();
        return failed;
    }
}

void* begin(const char* setup) {
    return guarded<void*>(nullptr, [&]() -> void* { return new Replay(setup); });
}
uint16_t key(void* replay, const char* name) { return static_cast<Replay*>(replay)->key(name); }
void append(void* replay, uint32_t lane, const Event& event) { static_cast<Replay*>(replay)->append(lane, event); }
uint32_t advance(void* replay) {
    return guarded(kFailed, [&] { return static_cast<Replay*>(replay)->advance(); });
}
const char* finish(void* replay) {
    Replay* const own = static_cast<Replay*>(replay);
    last_report = own->report();
    delete own;
    return last_report.c_str();
}
bool save(void* replay, const char* path, bool first) {
    return guarded(false, [&] {
        static_cast<Replay*>(replay)->save(path, first);
        return true;
    });
}
const char* error() { return last_error.c_str(); }

}  // namespace

void Replay::save(const std::string& path, bool first) const {
    std::ofstream out(path, first ? std::ios::binary : std::ios::binary | std::ios::app);
    if (first) out.write(kMagic, sizeof kMagic - 1);
    put(out, setup_);
    put(out, static_cast<uint32_t>(key_names_.size()));
    for (const std::string& name : key_names_) put(out, name);
    put(out, static_cast<uint32_t>(lanes_.size()));
    for (const Lane& lane : lanes_) {
        const uint64_t events = lane.queue.size();
        out.write(reinterpret_cast<const char*>(&events), sizeof events);
        out.write(reinterpret_cast<const char*>(lane.queue.data()), static_cast<std::streamsize>(events * sizeof(Event)));
    }
    if (!out) throw std::runtime_error("cannot write the record " + path);
}

}  // namespace vd::timing

using namespace vd::timing;

extern "C" {

extern const Library vd_clock_library __attribute__((visibility("default")));
const Library vd_clock_library = {begin, key, append, advance, finish, save, error};

// A record in memory, or nullptr when the file is none.
__attribute__((visibility("default"))) void* vd_clock_load(const char* path) {
    std::ifstream in(path, std::ios::binary);
    char magic[sizeof kMagic] = "";
    in.read(magic, sizeof kMagic - 1);
    if (!in || std::strcmp(magic, kMagic) != 0) return nullptr;
    Record* const record = new Record();
    for (LaunchRecord launch; read_launch(in, launch); launch = {}) record->push_back(std::move(launch));
    return record;
}

// The chip and the reports of its launches as JSON; `costs` are words "cost NAME VALUE" that replace those of the record,
// and those of alternatives.cpp. A path for the log of all launches, or none.
__attribute__((visibility("default"))) const char* vd_clock_replay(void* record, const char* costs, const char* log) {
    std::string launches, chip;
    try {
        std::ofstream file;
        if (*log != 0) file.open(log, std::ios::binary);
        for (const LaunchRecord& launch : *static_cast<Record*>(record)) {
            launches += (launches.empty() ? "" : ",") + replay_launch(launch, costs, chip, *log != 0 ? &file : nullptr);
        }
        last_report = "{\"chip\":\"" + chip + "\",\"launches\":[" + launches + "]}";
    } catch (const std::exception& problem) {
        last_report = std::string("{\"error\":\"") + problem.what() + "\"}";
    }
    return last_report.c_str();
}

__attribute__((visibility("default"))) void vd_clock_free(void* record) { delete static_cast<Record*>(record); }

}  // extern "C"
