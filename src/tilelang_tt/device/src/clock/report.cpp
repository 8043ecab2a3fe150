// The report of a replay as JSON: times in cycles.
#include <algorithm>
#include <cstdio>
#include <tuple>

#include "replay.h"

namespace vd::timing {
namespace {

constexpr const char* kNames[] = {"reader", "writer", "unpack", "math", "pack"};

std::string cycles(Time time) {
    char text[40];
    std::snprintf(text, sizeof text, "%.3f", static_cast<double>(time) / static_cast<double>(kTicks));
    return text;
}

std::string number(uint64_t value) { return std::to_string(value); }

// Time of a kind of processor over all cores, by line and cause.
void write_places(std::string& out, const std::vector<Lane>& lanes, uint32_t processor, bool waits) {
    std::map<Place, Time> sums;
    for (std::size_t i = processor; i < lanes.size(); i += kProcessors) {
        for (const auto& [place, time] : (waits ? lanes[i].waits : lanes[i].work).times()) sums[place] += time;
    }
    out += "[";
    bool first = true;
    for (const auto& [place, time] : sums) {
        if (time == 0) continue;
        out += std::string(first ? "" : ",") + "[" + number(place.line);
        if (waits) out += std::string(",\"") + kCauses[static_cast<uint32_t>(place.cause)] + "\"," + number(place.id);
        out += "," + cycles(time) + "]";
        first = false;
    }
    out += "]";
}

// What was done on all cores, by name of the cost.
void write_uses(std::string& out, const std::vector<Lane>& lanes, const std::vector<std::string>& names) {
    std::vector<Use> sums(names.size());
    for (const Lane& lane : lanes) {
        for (std::size_t key = 0; key < lane.uses.size(); ++key) {
            sums[key].units += lane.uses[key].units;
            sums[key].time += lane.uses[key].time;
        }
    }
    bool first = true;
    for (std::size_t key = 0; key < sums.size(); ++key) {
        if (sums[key].units == 0) continue;
        out += std::string(first ? "" : ",") + "[\"" + names[key] + "\"," + number(sums[key].units) + "," +
               cycles(sums[key].time) + "]";
        first = false;
    }
}

}  // namespace

std::string Replay::report() const {
    Time begin = -1, end = 0;
    for (const Lane& lane : lanes_) {
        if (lane.queue.empty() && lane.busy == 0) continue;
        if (begin < 0 || lane.begun < begin) begin = lane.begun;
        end = lane.time > end ? lane.time : end;
    }
    std::string out = "{\"cycles\":" + cycles(end - (begin < 0 ? 0 : begin)) + ",\"lanes\":{";
    for (uint32_t processor = 0; processor < kProcessors; ++processor) {
        Time busy = 0, waited = 0;
        for (std::size_t i = processor; i < lanes_.size(); i += kProcessors) {
            busy += lanes_[i].busy;
            waited += lanes_[i].waited;
        }
        out += std::string(processor ? "," : "") + "\"" + kNames[processor] + "\":{\"busy\":" + cycles(busy) +
               ",\"waiting\":" + cycles(waited) + ",\"work\":";
        write_places(out, lanes_, processor, false);
        out += ",\"waits\":";
        write_places(out, lanes_, processor, true);
        out += "}";
    }
    out += "},\"cores\":[";
    for (std::size_t i = 0; i < cores_.size(); ++i) {
        out += std::string(i ? "," : "") + "[" + number(cores_[i].x) + "," + number(cores_[i].y);
        for (uint32_t processor = 0; processor < kProcessors; ++processor) {
            const Lane& lane = lanes_[i * kProcessors + processor];
            out += ",[" + cycles(lane.busy) + "," + cycles(lane.waited) + "," + cycles(lane.time) + "]";
        }
        out += "]";
    }
    out += "],\"dram\":{\"bytes\":" + number(dram_bytes_) + ",\"busy\":[";
    for (std::size_t i = 0; i < network_->banks().size(); ++i) {
        out += std::string(i ? "," : "") + cycles(network_->banks()[i].busy);
    }
    out += "]},\"noc\":[";
    for (uint32_t noc = 0; noc < kNocs; ++noc) {
        out += std::string(noc ? "," : "") + "{\"link_bytes\":" + number(network_->link_bytes(noc)) +
               ",\"busiest_link\":" + cycles(network_->busiest_link(noc)) + "}";
    }
    out += "],\"zones\":[";
    bool first = true;
    std::vector<ZoneTime> zones = zones_;
    std::sort(zones.begin(), zones.end(), [](const ZoneTime& a, const ZoneTime& b) {
        return std::tie(a.lane, a.begin, a.end) < std::tie(b.lane, b.begin, b.end);
    });
    for (const ZoneTime& zone : zones) {
        const CoreState& core = cores_[zone.lane / kProcessors];
        out += std::string(first ? "" : ",") + "[\"" + key_names_[zone.key].substr(sizeof "profiler.zone") + "\"," +
               number(core.x) + "," + number(core.y) + ",\"" + kNames[zone.lane % kProcessors] + "\"," + cycles(zone.begin) +
               "," + cycles(zone.end) + "]";
        first = false;
    }
    out += "],\"kinds\":[";
    write_uses(out, lanes_, key_names_);
    out += "],\"guessed\":[";
    first = true;
    for (const Price& price : prices_) {
        if (!price.guessed) continue;
        out += std::string(first ? "\"" : ",\"") + price.name + "\"";
        first = false;
    }
    return out + "]}";
}

}  // namespace vd::timing
