#include "replay.h"

#include <sstream>

#include "library.h"

namespace vd::timing {

// The words of a launch:
//   size <width> <height>                               of the NoC
//   columns <n> <physical ...>   rows <n> <physical ...> of compute cores
//   banks <noc> <n> <x y ...>                            where DRAM banks answer
//   cost <name> <value>
//   packet <bytes>
//   core <x> <y> <parts of DST> <buffers> <id pages ...> <words> <offset value ...>
Replay::Replay(const char* setup) : setup_(setup) {
    std::istringstream words(setup);
    std::string word;
    uint32_t count = 0;
    while (words >> word) {
        if (word == "chip") {
            words >> chip_;
        } else if (word == "size") {
            words >> map_.width >> map_.height;
        } else if (word == "columns" || word == "rows") {
            std::vector<uint32_t>& list = word == "columns" ? map_.columns : map_.rows;
            words >> count;
            list.resize(count);
            for (uint32_t& value : list) words >> value;
        } else if (word == "banks") {
            uint32_t noc = 0;
            words >> noc >> count;
            map_.banks[noc].resize(count);
            for (Node& node : map_.banks[noc]) words >> node.x >> node.y;
        } else if (word == "cost") {
            double value = 0;
            words >> word >> value;
            costs_.set(word, value);
        } else if (word == "packet") {
            words >> packet_;
        } else if (word == "core") {
            CoreState core;
            words >> core.x >> core.y >> core.dst.parts >> count;
            core.buffers.resize(64);
            for (uint32_t i = 0; i < count; ++i) {
                uint32_t id = 0;
                words >> id >> std::ws;
                words >> core.buffers.at(id).pages;
            }
            words >> count;
            for (uint32_t i = 0; i < count; ++i) {
                uint32_t offset = 0, value = 0;
                words >> offset >> value;
                words_[uint64_t{cores_.size()} << 32 | offset].value = value;
            }
            cores_.push_back(std::move(core));
        } else if (!read_alternative(word, words)) {
            throw std::runtime_error("unknown word in the clock's description: " + word);
        }
    }
    lanes_.resize(cores_.size() * kProcessors);
    for (uint32_t i = 0; i < lanes_.size(); ++i) lanes_[i].number = i;
    core_at_.assign(map_.columns.size() * map_.rows.size(), 0);
    for (uint32_t i = 0; i < cores_.size(); ++i) {
        cores_[i].node = map_.core(cores_[i].x, cores_[i].y);
        cores_[i].banks.ahead = static_cast<uint32_t>(costs_.value("unpack.ahead"));
        core_at_[cores_[i].y * map_.columns.size() + cores_[i].x] = i + 1;
    }
    ways_ = std::make_unique<Wormhole>(costs_, map_, static_cast<Wormhole::Owner&>(*this));
    network_ = std::make_unique<Network>(costs_, map_, *ways_);
    for (auto& of_noc : multicasts_) of_noc.resize(std::size_t{map_.width} * map_.height);
    fixed_ = {costs_.cycles("cb.latency"),      costs_.cycles("cb.latency.compute"),    costs_.cycles("noc.l1_read"),
              costs_.cycles("noc.l1_write"),    costs_.cycles("dram.read"),      costs_.cycles("dram.write"),
              costs_.cycles("noc.flush"),       costs_.cycles("noc.multicast"),  costs_.cycles("noc.multicast_hop"),
              costs_.cycles("noc.multicast_window"), costs_.cycles("noc.multicast_windows"),
              costs_.cycles("noc.multicast_gap"), costs_.cycles("dm.page"), costs_.cycles("dram.backlog"), costs_.cycles("dm.semaphore_wait"),
              costs_.cycles("noc.same_word"),   costs_.value("noc.read_rate"),   costs_.value("noc.write_rate")};
}

uint16_t Replay::key(const std::string& name) {
    const std::lock_guard<std::mutex> guard(keys_mutex_);
    const auto found = keys_.find(name);
    if (found != keys_.end()) return found->second;
    const uint16_t number = static_cast<uint16_t>(key_names_.size());
    key_names_.push_back(name);
    return keys_[name] = number;
}

void Replay::set_prices() {
    const std::lock_guard<std::mutex> guard(keys_mutex_);
    while (prices_.size() < key_names_.size()) {
        const std::string& name = key_names_[prices_.size()];
        Price price;
        price.name = name;
        price.item = Costs::ticks(costs_.match(name, price.guessed));
        bool unused = false;
        price.call = Costs::ticks(costs_.match("call." + name, unused));
        price.gap = Costs::ticks(costs_.match("gap." + name, unused));
        if (costs_nothing(name)) price.item = price.call = price.gap = 0;
        prices_.push_back(price);
    }
}

void Replay::append(uint32_t number, const Event& event) {
    constexpr std::size_t kDone = 1024;  // events
    Lane& lane = lanes_[number];
    if (lane.empty() && lane.head != 0) {
        lane.queue.clear();
        lane.head = 0;
    } else if (!lane.empty()) {
        Event& last = lane.queue.back();
        const bool same = last.kind == event.kind && last.key == event.key && last.items == event.items &&
                          last.value == event.value && last.line == event.line && event.kind <= Kind::Math;
        const bool begun = lane.head + 1 == lane.queue.size() && (lane.done != 0 || lane.blocked);
        if (same && !begun) {
            last.count += event.count;
            return;
        }
    }
    if (lane.head > kDone && lane.head * 2 > lane.queue.size()) {  // what has been replayed need not be kept
        lane.queue.erase(lane.queue.begin(), lane.queue.begin() + static_cast<std::ptrdiff_t>(lane.head));
        lane.head = 0;
    }
    lane.queue.push_back(event);
    if (!lane.hungry) return;
    lane.hungry = false;
    wake(lane);
}

// Kernels of one core do not begin at the same moment: one processor starts the others.
Time Replay::start_of(Processor processor) const {
    constexpr const char* kRows[] = {"start.reader", "start.writer", "start.unpack", "start.math", "start.pack"};
    return costs_.cycles(kRows[static_cast<uint32_t>(processor)]);
}

void Replay::schedule(Time time, Step step, uint32_t lane, uint32_t number, uint32_t index, uint32_t target) {
    const uint64_t order = uint64_t{lane} << 40 | uint64_t{number} << 4 | static_cast<uint64_t>(step);
    moments_.push({time, order, step, index, target});
}

void Replay::wake(Lane& lane) {
    if (lane.ready || lane.ended) return;
    lane.ready = true;
    ready_.push_back(lane.number);
}

void Replay::run(Lane& lane) {
    lane.ready = lane.blocked = false;
    while (!lane.ended) {
        if (lane.empty()) {
            lane.hungry = true;
            hungry_.push_back(lane.number);
            return;
        }
        if (!process(lane)) {
            lane.blocked = true;
            return;
        }
        if (lane.event().kind != Kind::End) lane.use().units += lane.units();  // an end has no key of its own
        lane.done = 0;
        ++lane.head;
    }
}

uint32_t Replay::advance() {
    set_prices();
    if (!priced_) {
        for (Lane& lane : lanes_) {
            lane.time = lane.begun = start_of(lane.processor());
            wake(lane);
        }
        priced_ = true;
    }
    for (;;) {
        while (!ready_.empty()) {
            Lane& lane = lanes_[ready_.back()];
            ready_.pop_back();
            run(lane);
        }
        while (!hungry_.empty() && !lanes_[hungry_.back()].hungry) hungry_.pop_back();
        if (!hungry_.empty()) return hungry_.back();
        if (moments_.empty()) break;
        happen(moments_.take_first());
    }
    for (const Lane& lane : lanes_) {
        if (!lane.ended) throw std::runtime_error("the clock's replay stands still; please report this program");
    }
    return kAllEnded;
}

}  // namespace vd::timing
