#include "timed.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

thread_local uint64_t vd_scalar_cycles = 0;

namespace vd {

bool note::on = false;

namespace {

using timing::Event;
using timing::Kind;
using timing::Processor;

const timing::Library* library;
void* replay;
GrowingText common_setup, record_path, reports;

struct Noted {
    uint32_t lane;
    Event event;
};
std::vector<Noted> batch;  // of a streamed launch: not yet replayed

// The cost of a call has a name of up to four parts, all of them literals: their addresses tell names apart.
struct Name {
    const char* part[4];

    bool operator==(const Name& other) const { return std::memcmp(part, other.part, sizeof part) == 0; }
};

uint16_t slow_key(const Name& name) {
    GrowingText text;
    for (const char* part : name.part) {
        if (*part == 0) continue;
        if (!text.empty()) text += '.';
        text += part;
    }
    return library->key(replay, text.text());
}

struct KnownKeys {
    static constexpr std::size_t kSlots = 1024;
    uint32_t launch = ~0u;  // of which these are the numbers
    struct {
        Name name;
        uint16_t key;
    } slots[kSlots] = {};
};
thread_local KnownKeys known;

uint16_t key_of(const char* first, const char* second = "", const char* third = "", const char* fourth = "") {
    if (known.launch != device.launch_index) known = KnownKeys{};
    known.launch = device.launch_index;
    const Name name{{first, second, third, fourth}};
    uint64_t mixed = 0;
    for (const char* part : name.part) mixed = (mixed ^ reinterpret_cast<uintptr_t>(part)) * 0x9E3779B97F4A7C15ull;
    auto& slot = known.slots[mixed >> 54];
    if (slot.name.part[0] == nullptr || !(slot.name == name)) slot = {name, slow_key(name)};
    return slot.key;
}

constexpr const char* kProcessorNames[] = {"dm", "dm", "unpack", "math", "pack"};
const char* name_of(Processor processor) { return kProcessorNames[static_cast<uint32_t>(processor)]; }

Processor own_processor(Processor of_compute) {
    if (fiber->role == Role::Compute) return of_compute;
    return fiber->role == Role::Reader ? Processor::Reader : Processor::Writer;
}

constexpr uint32_t kMostNotes = 1 << 14;  // events that a kernel notes before the replay has its turn

void keep(Processor processor, Event event) {
    const uint32_t lane = core->index * timing::kProcessors + static_cast<uint32_t>(processor);
    if (!clock_streams()) return library->append(replay, lane, event);
    batch.push_back({lane, event});
    // A kernel that waits for nobody would note everything it does before the replay sees any of it.
    if (++fiber->noted % kMostNotes == 0) yield_to_scheduler();
}

Event event_of(Kind kind, uint16_t key, uint32_t count = 1);

// A poll that was not repeated; without a barrier behind it, it is a read.
void hand_over_poll() {
    HeldPoll& poll = fiber->poll;
    if (!poll.held) return;
    poll.held = false;
    const Processor own = own_processor(Processor::Unpack);
    if (!poll.awaited) poll.read.kind = Kind::Read;
    keep(own, poll.read);
    if (poll.awaited) keep(own, poll.barrier);
}

// What the kernel did by itself since the last event comes first.
void append(Processor processor, Event event) {
    hand_over_poll();
    event.line = fiber->line;
    if (fiber->scalar_cycles != 0) {
        constexpr uint64_t kMost = 1u << 30;  // cycles of one event
        const Processor own = own_processor(Processor::Unpack);
        const uint16_t key = key_of(name_of(own), "scalar");
        for (; fiber->scalar_cycles > kMost; fiber->scalar_cycles -= kMost) keep(own, event_of(Kind::Work, key, kMost));
        keep(own, event_of(Kind::Work, key, static_cast<uint32_t>(fiber->scalar_cycles)));
        fiber->scalar_cycles = 0;
    }
    if (fiber->vectors != 0) {
        const Processor on = core->engine.sfpi.on_pack ? Processor::Pack : Processor::Math;
        keep(on, event_of(Kind::Work, key_of(name_of(on), "sfpi"), fiber->vectors));
        fiber->vectors = 0;
    }
    keep(processor, event);
}

Event event_of(Kind kind, uint16_t key, uint32_t count) {
    Event event{};
    event.kind = kind;
    event.key = key;
    event.items = 1;
    event.count = count;
    return event;
}

uint64_t place_of(uint64_t address, uint32_t& offset) {
    const uint32_t x = (address >> kNocLocalBits) & ((1u << kNocNodeBits) - 1);
    const uint32_t y = (address >> (kNocLocalBits + kNocNodeBits)) & ((1u << kNocNodeBits) - 1);
    offset = l1_offset(static_cast<uint32_t>(address));
    if (y == kDramRow) return timing::dram_place(x);
    Place at{};
    is_worker(x, y, at);
    return timing::core_place(at.x, at.y);
}

const char* form_of(const VdHow& how) { return how.stateful ? "stateful" : how.one_packet ? "packet" : ""; }

void fill_how(Event& event, const VdHow& how) {
    event.id = how.noc;
    event.trid = how.trid;
    event.flags = static_cast<uint8_t>((how.linked ? timing::kLinked : 0) | (how.loopback ? timing::kLoopback : 0) |
                                       (how.posted ? timing::kPosted : 0) | (fiber->page_address ? timing::kPage : 0));
    fiber->page_address = false;
}

}  // namespace

namespace note {

const char* fidelity() {
    constexpr const char* kNames[] = {"LoFi", "HiFi2", "HiFi3", "HiFi4"};
    return kNames[static_cast<uint32_t>(core->group->fidelity)];
}

const char* dst_width() { return core->group->fp32_dest ? "dst32" : "dst16"; }

void buffer(Kind kind, uint32_t cb, uint32_t pages) {
    if (!on || pages == 0) return;
    constexpr const char* kNames[] = {"cb_reserve", "cb_push", "cb_wait", "cb_pop"};
    const bool producer = kind == Kind::Reserve || kind == Kind::Push;
    const Processor processor = own_processor(producer ? Processor::Pack : Processor::Unpack);
    const char* const call = kNames[static_cast<uint32_t>(kind) - static_cast<uint32_t>(Kind::Reserve)];
    Event event = event_of(kind, key_of(name_of(processor), call), pages);
    event.id = static_cast<uint8_t>(cb);
    append(processor, event);
}

void dst(Kind kind) {
    if (!on) return;
    constexpr const char* kNames[] = {"acquire", "commit", "wait", "release"};
    const Processor processor = kind == Kind::Acquire || kind == Kind::Commit ? Processor::Math : Processor::Pack;
    const char* const call = kNames[static_cast<uint32_t>(kind) - static_cast<uint32_t>(Kind::Acquire)];
    append(processor, event_of(kind, key_of(name_of(processor), "dst", call)));
    if (kind == Kind::Acquire) append(Processor::Unpack, event_of(Kind::Work, key_of("unpack", "section")));
}

void work(Processor processor, const char* name, const char* variant, const char* detail, uint32_t calls) {
    if (!on) return;
    const Processor at = own_processor(processor);
    append(at, event_of(Kind::Work, key_of(name_of(at), name, variant, detail), calls));
}

void reconfigure() {
    work(Processor::Unpack, "reconfig");
    work(Processor::Math, "reconfig");
}

void startup() {
    for (const Processor at : {Processor::Unpack, Processor::Math, Processor::Pack}) work(at, "startup");
}

void configure(const char* name) {
    work(Processor::Unpack, "init", name);
    work(Processor::Math, "init", name);
}

void copy(uint32_t cb) {
    if (!on) return;
    const bool to_dst = goes_to_dst(cb);
    const char* const format = format_name(cb_config(cb).declared);
    append(Processor::Unpack, event_of(Kind::Unpack, key_of("unpack", to_dst ? "copy_to_dst" : "copy", format)));
    append(Processor::Math, event_of(Kind::Math, key_of("math", to_dst ? "copy_to_dst" : "copy", dst_width())));
}

void operands(const char* name, uint32_t cb, const char* variant) {
    if (!on) return;
    const char* const format = format_name(cb_config(cb).declared);
    append(Processor::Unpack, event_of(Kind::Unpack, key_of("unpack", name, variant, format)));
}

void math(const char* name, const char* variant, const char* detail) {
    if (!on) return;
    append(Processor::Math, event_of(Kind::Math, key_of("math", name, variant, detail)));
}

// The unpacker keeps a tile of the shorter side of the block and brings the other operand for every product: in1 through
// source A, or in0 through source B. The cost is that of the operand that streams.
void matmul(uint32_t in0, uint32_t in1, uint32_t ct, uint32_t rt) {
    if (!on) return;
    const bool streams_in1 = ct >= rt;
    const char* const format = format_name(cb_config(streams_in1 ? in1 : in0).declared);
    Event unpack = event_of(Kind::Unpack, key_of("unpack", "matmul", format, streams_in1 ? "in1" : "in0"));
    unpack.items = static_cast<uint16_t>(ct * rt);
    unpack.value = streams_in1 ? rt : ct;
    append(Processor::Unpack, unpack);
    Event product = event_of(Kind::Math, key_of("math", "matmul", fidelity(), dst_width()));
    product.items = unpack.items;
    append(Processor::Math, product);
}

void pack(uint32_t cb) {
    if (!on) return;
    const char* const format = format_name(cb_config(cb).declared);
    const char* const how = core->engine.l1_acc ? "tile_acc" : "tile";
    append(Processor::Pack, event_of(Kind::Work, key_of("pack", how, format, dst_width())));
}

// Calls that take DST themselves: `count` tiles in `sections` sections.
void tiles(uint32_t in, uint32_t out, uint32_t count, uint32_t sections, const char* unpack, const char* pack) {
    if (!on) return;
    const uint16_t share = static_cast<uint16_t>(count / sections);
    const uint16_t load = key_of("unpack", unpack, format_name(cb_config(in).declared));
    const uint16_t move = key_of("math", goes_to_dst(in) ? "copy_to_dst" : "copy", dst_width());
    const uint16_t store = key_of("pack", pack, format_name(cb_config(out).declared), dst_width());
    for (uint32_t section = 0; section < sections; ++section) {
        append(Processor::Unpack, event_of(Kind::Unpack, load, share));
        dst(Kind::Acquire);
        append(Processor::Math, event_of(Kind::Math, move, share));
        dst(Kind::Commit);
        dst(Kind::PackWait);
        append(Processor::Pack, event_of(Kind::Work, store, share));
        dst(Kind::Release);
    }
}

void sfpu(const SfpuCall& call, const char* name) {
    if (!on) return;
    const bool clamps = call.op == Sfpu::Exp && call.param[1] != 0;
    const char* variant = !call.fast ? dst_width() : clamps ? "approx.clamped" : "approx";
    work(call.on_pack ? Processor::Pack : Processor::Math, "sfpu", name, variant);
}

// Which circular buffer an address of this core's L1 lies in, plus one; or none.
static uint32_t buffer_at(uint32_t offset, uint32_t bytes) {
    CbSpan span;
    return find_cb(offset, bytes, span) ? span.cb + 1 : 0;
}

// The same read again, with nothing but its barrier between: the kernel waits for a change, and how often it looks is a
// matter of time.
static void hold_poll(Event event, uint32_t offset) {
    HeldPoll& poll = fiber->poll;
    event.offset = offset;
    event.line = fiber->line;
    const bool again = poll.held && poll.awaited && poll.read.place == event.place && poll.read.offset == offset &&
                       poll.read.line == event.line && poll.read.id == event.id && poll.read.trid == event.trid;
    if (!again) hand_over_poll();
    fiber->scalar_cycles = 0;
    poll.read = event;
    poll.held = true;
    poll.awaited = false;
}

void polled(uint32_t changes) { fiber->poll.read.value = changes; }

void transfer(Kind kind, uint32_t local, uint64_t address, uint32_t bytes, const VdHow& how) {
    if (!on) return;
    uint32_t offset = 0;
    const uint64_t place = place_of(address, offset);
    const Processor processor = own_processor(Processor::Unpack);
    const char* const far = place & timing::kDram ? "dram" : "l1";
    Event event = event_of(kind, key_of("dm", kind == Kind::Write ? "write" : "read", far, form_of(how)), bytes);
    fill_how(event, how);
    event.place = place;
    if (kind == Kind::Poll) return hold_poll(event, offset);
    event.value = buffer_at(l1_offset(local), bytes);
    append(processor, event);
}

void word(uint64_t address, uint32_t value, bool add, const VdHow& how) {
    if (!on) return;
    Event event = event_of(Kind::Write, key_of("dm", add ? "atomic" : "word"), 4);
    fill_how(event, how);
    event.place = place_of(address, event.offset);
    event.flags |= add ? timing::kAtomic : timing::kWord;
    event.value = value;
    append(own_processor(Processor::Unpack), event);
}

// A write of one word may be a flag that somebody waits for.
void write(uint32_t source, uint64_t target, uint32_t bytes, const VdHow& how) {
    if (!on) return;
    if (bytes != 4) return transfer(Kind::Write, source, target, bytes, how);
    uint32_t value;
    std::memcpy(&value, core->l1 + l1_offset(source), sizeof value);
    word(target, value, false, how);
}

static Event multicast_event(Place first, Place last, uint32_t offset, uint32_t bytes, const VdHow& how) {
    Event event = event_of(Kind::Multicast, key_of("dm", "multicast", how.linked ? "linked" : ""), bytes);
    fill_how(event, how);
    Place low{}, high{};
    is_worker(first.x, first.y, low);
    is_worker(last.x, last.y, high);
    event.place = timing::rectangle_place(low.x, low.y, high.x, high.y);
    event.offset = offset;
    return event;
}

void multicast(Place first, Place last, uint32_t offset, uint32_t bytes, const uint8_t* source, const VdHow& how) {
    if (!on) return;
    Event event = multicast_event(first, last, offset, bytes, how);
    if (bytes == 4) {
        event.flags |= timing::kWord;
        std::memcpy(&event.value, source, sizeof event.value);
    } else {
        event.value = buffer_at(static_cast<uint32_t>(source - core->l1), bytes);
    }
    append(own_processor(Processor::Unpack), event);
}

void multicast_add(Place first, Place last, uint32_t offset, uint32_t value, const VdHow& how) {
    if (!on) return;
    Event event = multicast_event(first, last, offset, 4, how);
    event.flags |= timing::kAtomic;
    event.value = value;
    append(own_processor(Processor::Unpack), event);
}

void barrier(Kind kind, uint32_t noc, int32_t trid) {
    if (!on) return;
    constexpr const char* kNames[] = {"read_barrier", "write_barrier", "flush", "atomic_barrier"};
    const char* const call = kNames[static_cast<uint32_t>(kind) - static_cast<uint32_t>(Kind::ReadBarrier)];
    Event event = event_of(kind, key_of("dm", call));
    event.id = static_cast<uint8_t>(noc);
    event.trid = trid == kAnyTrid ? timing::kAllIds : static_cast<uint8_t>(trid);
    HeldPoll& poll = fiber->poll;
    const bool same = event.trid == timing::kAllIds || event.trid == poll.read.trid;
    if (poll.held && !poll.awaited && kind == Kind::ReadBarrier && noc == poll.read.id && same) {
        event.line = fiber->line;
        poll.barrier = event;
        poll.awaited = true;
        return;
    }
    append(own_processor(Processor::Unpack), event);
}

void await_word(uint32_t offset, uint32_t value, bool at_least) {
    if (!on) return;
    Event event = event_of(at_least ? Kind::WaitLeast : Kind::WaitEqual, key_of("dm", "semaphore_wait"));
    event.offset = offset;
    event.value = value;
    append(own_processor(Processor::Unpack), event);
}

// As a change: what others add meanwhile is theirs.
void set_word(uint32_t offset, uint32_t before, uint32_t value) {
    if (!on) return;
    Event event = event_of(Kind::Set, key_of("dm", "semaphore_set"));
    event.offset = offset;
    const bool known = is_semaphore(*core, offset, 4);
    event.value = known ? value - before : value;
    event.flags = known ? timing::kAtomic : 0;
    append(own_processor(Processor::Unpack), event);
}

void argument() {
    if (!on) return;
    if (fiber->role != Role::Compute) return work(Processor::Unpack, "argument");
    for (const Processor processor : {Processor::Unpack, Processor::Math, Processor::Pack}) work(processor, "argument");
}

// Every processor of a compute kernel comes by.
void zone(const char* name, bool begins) {
    if (!on) return;
    const Event event = event_of(begins ? Kind::ZoneBegin : Kind::ZoneEnd, key_of("profiler", "zone", name));
    if (fiber->role != Role::Compute) return append(own_processor(Processor::Unpack), event);
    for (const Processor processor : {Processor::Unpack, Processor::Math, Processor::Pack}) append(processor, event);
}

void vector_operations(uint32_t count) {
    if (on) fiber->vectors += count;
}

void end() {
    if (!on) return;
    collect_scalar_cycles();
    const Event event = event_of(Kind::End, 0);
    if (fiber->role != Role::Compute) return append(own_processor(Processor::Unpack), event);
    for (const Processor processor : {Processor::Unpack, Processor::Math, Processor::Pack}) append(processor, event);
}

}  // namespace note

namespace {

void add_numbers(GrowingText& text, std::initializer_list<uint64_t> numbers) {
    for (const uint64_t number : numbers) (text += ' ') += number;
}

GrowingText setup_of_launch() {
    GrowingText text = common_setup;
    for (const CoreConfig& config : device.launch->cores) {
        const CoreGroup& group = device.launch->groups[config.group];
        text += "\ncore";
        add_numbers(text, {config.x, config.y, group.full_sync ? 1u : 2u, group.cb_ids.size()});
        for (const uint32_t id : group.cb_ids) add_numbers(text, {id, group.cbs[id].pages});
        GrowingText words;
        uint64_t count = 0;
        for (uint32_t id = 0; id < kMaxSemaphores; ++id) {
            if (!group.semaphores[id].used) continue;
            add_numbers(words, {device.chip.semaphore_offset(id), group.semaphores[id].initial});
            ++count;
        }
        add_numbers(text, {count});
        text += words;
    }
    return text;
}

// Processors that have no kernel have ended before they begin.
void end_idle_processors() {
    const Event event = event_of(Kind::End, 0);
    for (uint32_t index = 0; index < device.launch->cores.size(); ++index) {
        const CoreGroup& group = device.launch->groups[device.launch->cores[index].group];
        const auto end = [&](Processor processor) {
            library->append(replay, index * timing::kProcessors + static_cast<uint32_t>(processor), event);
        };
        if (!group.kernels[static_cast<uint32_t>(Role::Reader)].used) end(Processor::Reader);
        if (!group.kernels[static_cast<uint32_t>(Role::Writer)].used) end(Processor::Writer);
        if (group.kernels[static_cast<uint32_t>(Role::Compute)].used) continue;
        for (const Processor processor : {Processor::Unpack, Processor::Math, Processor::Pack}) end(processor);
    }
}

}  // namespace

void load_clock(const char* path, const char* record, const char* setup) {
    void* const opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!opened) broken_input("cannot load the clock: %s", dlerror());
    library = static_cast<const timing::Library*>(dlsym(opened, "vd_clock_library"));
    if (!library) broken_input("no clock in %s", path);
    common_setup += setup;
    if (std::strcmp(record, "-") != 0) record_path += record;
    note::on = true;
}

void begin_clock() {
    if (!note::on) return;
    replay = library->begin(setup_of_launch().text());
    if (!replay) broken_input("%s", library->error());
    end_idle_processors();
}

bool clock_streams() { return note::on && device.numberless && record_path.empty(); }

uint64_t noted_events() { return batch.size(); }

// The thread of the replay, while a launch is streamed. `working`: it has a batch.
struct Replayer {
    pthread_t thread;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    bool started = false, working = false;
    uint32_t reached = 0;  // what the last `advance` said
    std::vector<Noted> events;
};
static Replayer replayer;

static void* replay_batches(void*) {
    install_thread_signal_stack();
    pthread_mutex_lock(&replayer.mutex);
    for (;;) {
        while (!replayer.working) pthread_cond_wait(&replayer.changed, &replayer.mutex);
        pthread_mutex_unlock(&replayer.mutex);
        for (const Noted& one : replayer.events) library->append(replay, one.lane, one.event);
        const uint32_t reached = library->advance(replay);
        pthread_mutex_lock(&replayer.mutex);
        replayer.reached = reached;
        replayer.working = false;
        pthread_cond_broadcast(&replayer.changed);
    }
}

bool hand_over_batch() {
    pthread_mutex_lock(&replayer.mutex);
    if (!replayer.started && pthread_create(&replayer.thread, nullptr, replay_batches, nullptr) != 0) {
        broken_input("cannot start a thread");
    }
    replayer.started = true;
    while (replayer.working) pthread_cond_wait(&replayer.changed, &replayer.mutex);
    const bool last = batch.empty();
    replayer.events.clear();
    replayer.events.swap(batch);
    replayer.working = true;
    pthread_cond_broadcast(&replayer.changed);
    while (last && replayer.working) pthread_cond_wait(&replayer.changed, &replayer.mutex);
    const uint32_t reached = replayer.reached;
    pthread_mutex_unlock(&replayer.mutex);
    if (last && reached == timing::kFailed) broken_input("%s", library->error());
    return !last || reached != timing::kAllEnded;
}

void end_clock() {
    if (!note::on) return;
    if (!record_path.empty() && !library->save(replay, record_path.text(), device.launch_index == 0)) {
        broken_input("%s", library->error());
    }
    if (library->advance(replay) != timing::kAllEnded) broken_input("%s", library->error());
    reports += reports.empty() ? '[' : ',';
    reports += library->finish(replay);
    replay = nullptr;
}

const GrowingText& clock_reports() { return reports; }

}  // namespace vd

extern "C" void vd_zone(const char* name, bool begins, uint32_t line) {
    vd::begin(line);
    vd::note::zone(name, begins);
}
