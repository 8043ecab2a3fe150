// Launches whose cores talk to each other: every core has its own L1 and its own fibers, and one thread runs
// them all, so that each change is seen in the order the scheduler makes it.
#include <cstring>
#include <utility>

#include "machine.h"
#include "order.h"
#include "vd/noc_abi.h"

namespace vd {
namespace {

// Virtual NoC coordinates of core (0, 0); on Blackhole two columns without compute cores lie behind the seventh.
constexpr Place kWormholeOrigin{18, 18}, kBlackholeOrigin{1, 2};
constexpr uint32_t kBlackholeGap = 7, kGapColumns = 2;
constexpr uint32_t kWormholePacket = 8192, kBlackholePacket = 16384;  // NOC_MAX_BURST_SIZE

std::vector<Core*> cores_of_launch;
std::vector<Core*> core_at;  // by place on the chip

struct Visit {
    Core* at;
    Fiber* fiber;
};
std::vector<Visit> visits;  // of a round: every kernel of the launch

bool someone_lives() {
    for (const Visit& one : visits) {
        if (one.fiber->live) return true;
    }
    return false;
}

// A seed decides in which order a round visits the kernels.
void shuffle_visits() {
    for (std::size_t i = visits.size(); i > 1; --i) {
        std::swap(visits[i - 1], visits[pick(static_cast<uint32_t>(i))]);
    }
}

// Kernels of a core where nothing has happened since the last visit still wait.
bool run_round() {
    static std::vector<bool> was_stirred;
    was_stirred.clear();
    for (Core* at : cores_of_launch) was_stirred.push_back(std::exchange(at->stirred, false));
    bool progressed = false;
    for (const auto& [at, which] : visits) {
        if (!which->live || !(at->stirred || was_stirred[at->index]) || !can_run(*at, *which)) continue;
        which->wait = Wait::None;
        which->polling = false;
        resume_fiber(*at, *which);
        progressed = progressed || !which->polling;
        land_now_and_then();
    }
    return progressed;
}

// Whether somebody could still change what the others wait for.
bool anyone_polls() {
    for (const Core* at : cores_of_launch) {
        for (const Fiber& which : at->fibers) {
            if (which.live && which.polling) return true;
        }
    }
    return false;
}

void nobody_can_go_on() {
    const uint32_t count = static_cast<uint32_t>(cores_of_launch.size());
    if (!let_compute_go_on(cores_of_launch.data(), count)) report_deadlock(cores_of_launch.data(), count);
}

}  // namespace

void begin_grid() {
    const uint32_t cores = static_cast<uint32_t>(device.launch->cores.size());
    cores_of_launch.assign(cores, nullptr);
    core_at.assign(device.chip.cores(), nullptr);
    for (uint32_t index = 0; index < cores; ++index) {
        Core* const at = cores_of_launch[index] = grid_core(index);
        reset_core(*at, index);
        forget_signals(*at);
        core_at[at->y * device.chip.grid_x + at->x] = at;
    }
    visits.clear();
    for (Core* at : cores_of_launch) {
        for (Fiber& which : at->fibers) {
            if (which.live) visits.push_back({at, &which});
        }
    }
    forget_flights();
    if (device.launch->connected()) begin_order(cores);
}

bool run_grid_round() {
    if (!someone_lives()) return false;
    if (device.seed != 0) shuffle_visits();
    if (!run_round() && !land_any() && !anyone_polls() && someone_lives()) nobody_can_go_on();
    return true;
}

void end_grid() {
    while (land_any()) {  // posted writes, which nobody awaits
    }
    for (Core* at : cores_of_launch) {
        core = at;
        fiber = &at->fibers[0];
        check_cbs_at_end();
        check_mail_at_end();
    }
    fiber = nullptr;
    if (device.launch->connected()) end_order();
}

void run_connected() {
    begin_grid();
    while (run_grid_round()) {
    }
    end_grid();
}

// Every kernel goes on until it has to wait, or has noted much.
static void note_a_batch() {
    if (device.launch->connected()) {
        constexpr uint32_t kRounds = 16;  // of a batch: enough for two threads to hand over seldom
        for (uint32_t round = 0; round < kRounds && run_grid_round(); ++round) {
        }
        return;
    }
    constexpr uint32_t kEvents = 1 << 13;  // of one core
    bool any = false, live = false;
    for (Core* at : cores_of_launch) {
        const uint64_t before = noted_events();
        for (bool progressed = true; progressed && noted_events() - before < kEvents;) {
            progressed = false;
            for (Fiber& which : at->fibers) {
                live = live || which.live;
                if (!which.live || !can_run(*at, which)) continue;
                which.wait = Wait::None;
                resume_fiber(*at, which);
                any = progressed = true;
            }
        }
    }
    if (live && !any) nobody_can_go_on();
}

// Kernels note the next batch of events while the clock replays the last.
void run_for_clock() {
    begin_grid();
    do {
        note_a_batch();
    } while (hand_over_batch());
    while (run_grid_round()) {
    }
    end_grid();
}

Place noc_place(uint32_t x, uint32_t y) {
    const Place origin = device.chip.blackhole ? kBlackholeOrigin : kWormholeOrigin;
    return {origin.x + x + (device.chip.blackhole && x >= kBlackholeGap ? kGapColumns : 0), origin.y + y};
}

bool is_worker(uint32_t noc_x, uint32_t noc_y, Place& at) {
    const Place origin = device.chip.blackhole ? kBlackholeOrigin : kWormholeOrigin;
    if (noc_x < origin.x || noc_y < origin.y) return false;
    at = {noc_x - origin.x, noc_y - origin.y};
    if (device.chip.blackhole && at.x >= kBlackholeGap) {
        if (at.x < kBlackholeGap + kGapColumns) return false;
        at.x -= kGapColumns;
    }
    return at.x < device.chip.grid_x && at.y < device.chip.grid_y;
}

Core* core_at_noc(uint32_t noc_x, uint32_t noc_y) {
    Place at{};
    if (!is_worker(noc_x, noc_y, at)) return nullptr;
    if (at.x == core->x && at.y == core->y) return core;
    if (!device.launch->connected()) {
        vd_unimplemented("a NoC address of another core that a kernel puts together by hand", fiber->line);
    }
    return core_at[at.y * device.chip.grid_x + at.x];
}

uint32_t max_packet() { return device.chip.blackhole ? kBlackholePacket : kWormholePacket; }

}  // namespace vd

using namespace vd;

extern "C" {

uint32_t vd_noc_coordinate(bool y) {
    const Place here = noc_place(core->x, core->y);
    return y ? here.y : here.x;
}

uint32_t vd_logical_coordinate(bool y) { return y ? core->y : core->x; }

uint32_t vd_relative_coordinate(bool y) {
    uint32_t first = y ? core->y : core->x;
    for (const CoreConfig& other : device.launch->cores) {
        if (other.group == core->config->group && (y ? other.y : other.x) < first) first = y ? other.y : other.x;
    }
    return (y ? core->y : core->x) - first;
}

bool vd_noc_is_here(uint64_t address) { return (address >> kNocLocalBits) == (vd_noc_addr_local(0) >> kNocLocalBits); }

}  // extern "C"
