// Who runs when. Cores without traffic between them are independent, so each worker thread takes one core
// after the other and runs its three kernels to the end, in an L1 that stays warm in the host's cache.
// Launches whose cores talk to each other are run by grid.cpp.
#include <pthread.h>
#include <sys/mman.h>

#include <cstring>

#include "machine.h"

namespace vd {
namespace {

// Host address of the first L1 window. Kernels hold L1 addresses in 32 bits and may turn them into
// pointers, so windows lie below 4 GiB; the low bits of an address are the chip's own.
constexpr uintptr_t kWindowsBase = 0x20000000;

uint32_t next_core;
thread_local uint64_t dice;

// splitmix64; every core of a parallel launch draws from a sequence of its own, so threads do not disturb a seed.
uint64_t draw() {
    uint64_t mixed = dice += 0x9E3779B97F4A7C15ull;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ull;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBull;
    return mixed ^ (mixed >> 31);
}

uint8_t* map_window(uint32_t slot) {
    void* want = reinterpret_cast<void*>(kWindowsBase + static_cast<uintptr_t>(slot) * device.l1_window);
    void* got = mmap(want, device.l1_window, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) broken_input("no memory for the L1 of a core");
    if (got != want) broken_input("cannot map the L1 of a core below 4 GiB");
    return static_cast<uint8_t*>(got);
}

void run_core(Core& at) {
    bool any = true;
    dice = device.seed + at.index * 1000003ull;
    while (any) {
        any = false;
        bool progressed = false;
        const uint32_t first = device.seed != 0 ? pick(kRoles) : 0;
        for (uint32_t turn = 0; turn < kRoles; ++turn) {
            Fiber& which = at.fibers[(first + turn) % kRoles];
            if (!which.live) continue;
            any = true;
            if (!can_run(at, which)) continue;
            which.wait = Wait::None;
            resume_fiber(at, which);
            progressed = true;
        }
        Core* const only = &at;
        if (any && !progressed && !let_compute_go_on(&only, 1)) report_deadlock(&only, 1);
    }
    fiber = &at.fibers[0];
    check_cbs_at_end();
    check_mail_at_end();
    fiber = nullptr;
}

struct Worker {
    pthread_t thread;
    Core* core;
};

void* work(void* argument) {
    Core& own = *static_cast<Worker*>(argument)->core;
    install_thread_signal_stack();
    const uint32_t cores = static_cast<uint32_t>(device.launch->cores.size());
    for (;;) {
        const uint32_t index = __atomic_fetch_add(&next_core, 1, __ATOMIC_RELAXED);
        if (index >= cores) return nullptr;
        reset_core(own, index);
        run_core(own);
    }
}

std::vector<Worker> workers;

std::vector<Core*> grid_cores;

Core* make_core(uint32_t slot) {
    Core* own = new Core();
    own->l1 = map_window(slot);
    own->engine.section.dst = new Tile[16];
    own->engine.srca_tiles = new Tile[16];
    own->engine.srcb_tiles = new Tile[16];
    register_running(own);
    return own;
}

void create_workers() {
    for (uint32_t slot = 0; slot < device.threads; ++slot) workers.push_back({pthread_t{}, make_core(slot)});
}

}  // namespace

bool in_some_l1(uintptr_t address) {
    return address >= kWindowsBase && (address - kWindowsBase) / device.l1_window < device.threads + grid_cores.size();
}

Device device;
thread_local Core* core;
thread_local Fiber* fiber;

void reset_core(Core& at, uint32_t index) {
    at.index = index;
    at.stirred = true;
    at.config = &device.launch->cores[index];
    at.group = &device.launch->groups[at.config->group];
    at.x = at.config->x;
    at.y = at.config->y;
    map_shared_l1(at);
    for (uint32_t id = 0; id < kMaxSemaphores; ++id) {
        const SemaphoreConfig& semaphore = at.group->semaphores[id];
        if (!semaphore.used) continue;
        std::memcpy(at.l1 + device.chip.semaphore_offset(id), &semaphore.initial, sizeof semaphore.initial);
    }
    for (const uint32_t id : at.group->cb_ids) {
        const CbConfig& config = at.group->cbs[id];
        CbState& state = at.cbs[id];
        state.pushed = state.popped = 0;
        state.write_page = state.read_page = state.back_page = 0;
        state.held = false;
        state.stray_read = state.stray_write = 0;
        state.read_shift = state.write_shift = 0;
        state.reserved = state.waited = state.pack_cursor = 0;
        state.sure = 0;
        state.push_ends.clear();
        state.pages.assign(config.pages, Page{});
        state.producer = config.producer;
        state.consumer = config.consumer;
        state.scratch = state.prefilled = state.moved = false;
        state.own_wait = 0;
        state.taken_line = 0;
        if (config.on_tensor || device.numberless) continue;
        std::memset(at.l1 + config.offset, kPoison, static_cast<std::size_t>(config.pages) * config.page_bytes);
    }
    for (uint32_t role = 0; role < kRoles; ++role) {
        at.fibers[role].role = static_cast<Role>(role);
        at.fibers[role].live = false;
        if (!at.group->kernels[role].used) continue;
        prepare_fiber(at.fibers[role]);
        at.fibers[role].globals = at.group->kernels[role].initial_globals;
    }
    for (auto& boxes : at.mail) {
        for (std::vector<Mail>& box : boxes) box.clear();
    }
    core = &at;
    reset_engine();
}

bool can_run(const Core& at, const Fiber& which) {
    if (which.others_wait || (which.waiting != 0 && can_carry_out(at, which))) return true;
    switch (which.wait) {
        case Wait::Reserve: return cb_has_room(at, which.wait_cb, which.wait_pages);
        case Wait::Front: return cb_has_data(at, which.wait_cb, which.wait_pages);
        case Wait::SemaphoreEqual:
        case Wait::SemaphoreMin: return semaphore_passes(at, which);
        case Wait::Arrival: return !awaits(which);
        case Wait::Mail: return has_mail(at, which.wait_from, which.wait_to);
        case Wait::Mailbox: return mailboxes_have_room(at, which.wait_from);
        default: return true;
    }
}

Core* grid_core(uint32_t index) {
    while (grid_cores.size() <= index) {
        grid_cores.push_back(make_core(device.threads + static_cast<uint32_t>(grid_cores.size())));
    }
    return grid_cores[index];
}

uint32_t pick(uint32_t below) { return static_cast<uint32_t>(draw() % below); }
bool chance(uint32_t one_in) { return device.seed != 0 && pick(one_in) == 0; }

void poll() {
    fiber->polling = true;
    yield_to_scheduler();
}

void maybe_give_way() {
    if (chance(8)) yield_to_scheduler();
}

void run_launch() {
    if (clock_streams()) return run_for_clock();
    if (device.launch->connected()) {
        dice = device.seed;
        run_connected();
        return;
    }
    if (workers.empty()) create_workers();
    next_core = 0;
    const std::size_t threads = device.launch->globals ? 1 : workers.size();
    for (std::size_t i = 1; i < threads; ++i) {
        if (pthread_create(&workers[i].thread, nullptr, work, &workers[i]) != 0) broken_input("cannot start a thread");
    }
    work(&workers[0]);
    for (std::size_t i = 1; i < threads; ++i) pthread_join(workers[i].thread, nullptr);
}

Statistics total_statistics() {
    Statistics total{};
    std::vector<const Core*> cores(grid_cores.begin(), grid_cores.end());
    for (const Worker& worker : workers) cores.push_back(worker.core);
    for (const Core* one : cores) {
        const Statistics& part = one->statistics;
        total.noc_read_bytes += part.noc_read_bytes;
        total.noc_write_bytes += part.noc_write_bytes;
        total.tile_products += part.tile_products;
        total.tiles_packed += part.tiles_packed;
        total.tiles_unpacked += part.tiles_unpacked;
        total.sfpu_tiles += part.sfpu_tiles;
        total.switches += part.switches;
    }
    return total;
}

}  // namespace vd
