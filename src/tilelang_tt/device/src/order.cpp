#include "order.h"

#include <cstdio>
#include <cstring>

#include "circular_buffer.h"

namespace vd {
namespace {

constexpr uint32_t kNobody = 0xffffffff;

struct Moment {
    uint32_t kernel = kNobody, time = 0, line = 0;
};

struct Clocked {
    Clock known;           // its own entry is the present moment
    bool released = false;  // somebody knows the present moment: what comes now is later
    Stamp stamp;           // a copy of `known`, while it is up to date
};

struct Word {
    uint32_t offset;
    Clock signals;               // joined clocks of all that changed it
    std::vector<Moment> arrived;  // signals since its own core set it
    Moment set;
    uint32_t value = 0;
    Moment seen;  // the last wait for one value alone, since its own core set it
    uint32_t seen_value = 0;
};

struct L1Page {
    Moment used, arrived;
};

struct OrderedBuffer {
    Clock pushed, popped;
    Moment reserved;
    std::vector<L1Page> pages;
};

struct OrderedCore {
    Clock arrived;
    std::vector<Word> words;  // a few
    OrderedBuffer buffers[kMaxCbs];
    Clock mail[kMailProcessors][kMailProcessors];  // [from][to]

    Word* find(uint32_t offset) {
        for (Word& word : words) {
            if (word.offset == offset) return &word;
        }
        return nullptr;
    }
    Word& word_at(uint32_t offset) {
        if (Word* const known = find(offset)) return *known;
        words.push_back({offset, {}, {}, {}, 0, {}, 0});
        return words.back();
    }
};

struct TensorPage {
    Moment written;
    uint32_t begin = 0, end = 0;  // bytes of the last write
    bool pending = false;         // not yet acknowledged
    uint8_t noc = 0, trid = 0;
    std::vector<Moment> readers;
};

bool ordering = false;
std::vector<Clocked> kernels;
std::vector<OrderedCore> cores;
// Of a tensor: by page, or byte of a flat tensor, in parts that are made when they are used and stay where they are.
constexpr uint32_t kRecords = 64;
struct TensorRecords {
    std::vector<std::vector<TensorPage>> parts;
};
std::vector<TensorRecords> tensor_records;
std::vector<std::vector<TensorPage*>> unacknowledged;   // by kernel

uint32_t number_of(const Core& at, Role role) { return at.index * kRoles + static_cast<uint32_t>(role); }
uint32_t here() { return number_of(*core, fiber->role); }

void join(Clock& into, const Clock& from) {
    if (into.size() < from.size()) into.resize(from.size());
    typedef int32_t Four __attribute__((vector_size(16)));  // times are counts, far from the sign
    std::size_t i = 0;
    for (; i + 4 <= from.size(); i += 4) {
        Four a, b;
        std::memcpy(&a, &into[i], sizeof a);
        std::memcpy(&b, &from[i], sizeof b);
        a = (a < b) ? b : a;
        std::memcpy(&into[i], &a, sizeof a);
    }
    for (; i < from.size(); ++i) into[i] = into[i] < from[i] ? from[i] : into[i];
}

void learn(const Clock& from) {
    if (from.empty()) return;
    Clocked& own = kernels[here()];
    join(own.known, from);
    own.stamp = {};
}

Moment now() {
    Clocked& own = kernels[here()];
    if (own.released) {
        ++own.known[here()];
        own.released = false;
        own.stamp = {};
    }
    return {here(), own.known[here()], fiber->line};
}

void release(Clock& into) {
    join(into, kernels[here()].known);
    kernels[here()].released = true;
}

bool knows(const Clock& clock, const Moment& moment) {
    return moment.kernel == kNobody || clock[moment.kernel] >= moment.time;
}

struct KernelName {
    char text[64];
};
KernelName kernel_name(const Moment& moment) {
    constexpr const char* kRoleNames[] = {"reader", "compute", "writer"};
    const CoreConfig& at = device.launch->cores[moment.kernel / kRoles];
    KernelName name;
    std::snprintf(name.text, sizeof name.text, "the %s of core (%u,%u), line %u", kRoleNames[moment.kernel % kRoles], at.x,
                  at.y, moment.line);
    return name;
}

// The buffer that holds these bytes of a core; several may lie over each other, the first stands for all.
OrderedBuffer* buffer_at(const Core& at, uint32_t offset, uint32_t bytes, uint32_t& id, uint32_t& first,
                         uint32_t& last) {
    for (const uint32_t cb : at.group->cb_ids) {
        const CbConfig& config = at.group->cbs[cb];
        const uint64_t end = config.offset + static_cast<uint64_t>(config.pages) * config.page_bytes;
        if (offset < config.offset || offset + static_cast<uint64_t>(bytes) > end) continue;
        id = cb;
        first = (offset - config.offset) / config.page_bytes;
        last = (offset + bytes - 1 - config.offset) / config.page_bytes;
        OrderedBuffer& buffer = cores[at.index].buffers[cb];
        buffer.pages.resize(config.pages);
        return &buffer;
    }
    return nullptr;
}

void arrive_in_word(Flight& flight) {
    Word& word = cores[flight.to->index].word_at(flight.offset);
    const Clock& sender = *flight.order;
    if (!knows(sender, word.set)) {
        complain("semaphore", "this signal and the store of %u to the same word by %s: nothing orders the two, so one may "
               "be lost", word.value, kernel_name(word.set).text);
    }
    join(word.signals, sender);
    const uint32_t from = number_of(*flight.core, flight.fiber->role);
    word.arrived.push_back({from, sender[from], flight.line});
}

void arrive_in_buffer(Flight& flight) {
    uint32_t id = 0, first = 0, last = 0;
    OrderedBuffer* const buffer = buffer_at(*flight.to, flight.offset, flight.bytes, id, first, last);
    if (!buffer) return;
    const Clock& sender = *flight.order;
    const uint32_t from = number_of(*flight.core, flight.fiber->role);
    const CbState& state = flight.to->cbs[id];
    for (uint32_t page = first; page <= last; ++page) {
        const uint32_t behind = pages_from(state.write_page, page, static_cast<uint32_t>(state.pages.size()));
        const bool first_lap = state.pushed + behind < state.pages.size(), reserved = behind < state.reserved;
        if (reserved && !first_lap && !knows(sender, buffer->reserved)) {
            complain("cb-unreserved-write",
                   "this write arrives in page %u of CB %u '%s' of core (%u,%u), but nothing tells its sender that %s has "
                   "reserved it",
                   page, id, flight.to->group->cbs[id].name, flight.to->x, flight.to->y,
                   kernel_name(buffer->reserved).text);
        }
        if (!knows(sender, buffer->pages[page].used)) {
            complain("l1-race", "this write arrives in page %u of CB %u '%s' of core (%u,%u), which %s uses: nothing orders "
                   "the two", page, id, flight.to->group->cbs[id].name, flight.to->x, flight.to->y,
                   kernel_name(buffer->pages[page].used).text);
        }
        buffer->pages[page].arrived = {from, sender[from], flight.line};
    }
}

TensorPage& record_of(const Tensor& tensor, uint64_t place) {
    const uint64_t number = static_cast<uint64_t>(&tensor - device.tensors.data());
    std::vector<std::vector<TensorPage>>& parts = tensor_records[number].parts;
    const uint64_t part = place / kRecords;
    if (part >= parts.size()) parts.resize(part + 1);
    if (parts[part].empty()) parts[part].resize(kRecords);
    return parts[part][place % kRecords];
}

void report_race(const Span& far, const char* mine, const char* theirs, const Moment& other) {
    complain("dram-race", "page %llu of tensor '%s' is %s here and %s by %s in the same launch: nothing orders the two",
           static_cast<unsigned long long>(far.page), far.tensor->name, mine, theirs, kernel_name(other).text);
}

void require_write_known(const Span& far, const TensorPage& page, uint32_t begin, uint32_t end, const char* mine) {
    const bool overlaps = begin < page.end && page.begin < end;
    if (page.written.kernel == kNobody || page.written.kernel == here() || !overlaps) return;
    if (page.pending || !knows(kernels[here()].known, page.written)) report_race(far, mine, "written", page.written);
}

uint32_t within_page(const Span& far) {
    return static_cast<uint32_t>(far.bytes - far.tensor->page_bytes_at(static_cast<uint32_t>(far.page)));
}

void note_write(TensorPage& page, uint32_t begin, uint32_t end, const VdHow& how) {
    page.readers.clear();
    page.written = now();
    page.begin = begin, page.end = end;
    page.pending = true, page.noc = how.noc, page.trid = how.trid;
    if (!how.posted) unacknowledged[here()].push_back(&page);
}

// Cores may write different bytes of one page.
void write_flat(const Span& far, uint32_t bytes, const VdHow& how) {
    const uint64_t begin = place_in_tensor(far);
    for (uint64_t at = begin; at < begin + bytes; ++at) {
        TensorPage& byte = record_of(*far.tensor, at);
        require_write_known(far, byte, 0, 1, "written");
        note_write(byte, 0, 1, how);
    }
}

}  // namespace

void begin_order(uint32_t count) {
    ordering = !device.numberless;
    kernels = std::vector<Clocked>(std::size_t{count} * kRoles);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        kernels[i].known = Clock(kernels.size());
        kernels[i].known[i] = 1;
    }
    cores = std::vector<OrderedCore>(count);
    tensor_records.clear();
    tensor_records.resize(device.tensors.size());
    unacknowledged = std::vector<std::vector<TensorPage*>>(kernels.size());
}

void end_order() { ordering = false; }

void order_push(uint32_t cb) {
    if (!ordering) return;
    OrderedBuffer& buffer = cores[core->index].buffers[cb];
    release(buffer.pushed);
}
void order_wait(uint32_t cb) {
    if (ordering) learn(cores[core->index].buffers[cb].pushed);
}
void order_pop(uint32_t cb) {
    if (ordering) release(cores[core->index].buffers[cb].popped);
}
void order_reserve(uint32_t cb) {
    if (!ordering) return;
    OrderedBuffer& buffer = cores[core->index].buffers[cb];
    learn(buffer.popped);
    buffer.reserved = now();
}

void order_mail_written(uint32_t from, uint32_t to) {
    if (ordering) release(cores[core->index].mail[from][to]);
}
void order_mail_read(uint32_t from, uint32_t to) {
    if (ordering) learn(cores[core->index].mail[from][to]);
}

Stamp stamp_of_issue() {
    if (!ordering) return {};
    Clocked& own = kernels[here()];
    if (!own.stamp) own.stamp = Stamp(own.known);
    own.released = true;
    return own.stamp;
}

void order_arrival(Flight& flight) {
    if (!ordering || !flight.to) return;
    join(cores[flight.to->index].arrived, *flight.order);
    if (flight.bytes == 4) arrive_in_word(flight);
    if (!is_semaphore(*flight.to, flight.offset, flight.bytes)) arrive_in_buffer(flight);
}

void order_remote_read(const Core& from) {
    if (!ordering) return;
    for (uint32_t role = 0; role < kRoles; ++role) {
        Clocked& other = kernels[number_of(from, static_cast<Role>(role))];
        learn(other.known);
        other.released = true;
    }
}

void order_l1_use(uint32_t offset, uint32_t bytes, const char* how) {
    uint32_t id = 0, first = 0, last = 0;
    OrderedBuffer* const buffer = ordering ? buffer_at(*core, offset, bytes, id, first, last) : nullptr;
    if (!buffer) return;
    for (uint32_t page = first; page <= last; ++page) {
        L1Page& place = buffer->pages[page];
        if (!knows(kernels[here()].known, place.arrived)) {
            complain("l1-race", "page %u of CB %u '%s' is %s here and written by %s: nothing orders the two", page, id,
                   core->group->cbs[id].name, how, kernel_name(place.arrived).text);
        }
        place.used = now();
    }
}

void order_tensor_read(const Span& far, uint32_t bytes) {
    if (!ordering) return;
    TensorPage& page = record_of(*far.tensor, far.page);
    const uint32_t begin = within_page(far);
    require_write_known(far, page, begin, begin + bytes, "read");
    const Moment moment = now();
    for (Moment& reader : page.readers) {
        if (reader.kernel != moment.kernel) continue;
        reader = moment;
        return;
    }
    page.readers.push_back(moment);
}

void order_tensor_write(const Span& far, uint32_t bytes, const VdHow& how) {
    if (!ordering) return;
    if (far.tensor->flat) return write_flat(far, bytes, how);
    TensorPage& page = record_of(*far.tensor, far.page);
    const uint32_t begin = within_page(far);
    require_write_known(far, page, begin, begin + bytes, "written");
    for (const Moment& reader : page.readers) {
        const bool other = reader.kernel != here() && bytes == far.tensor->page_bytes;
        if (other && !knows(kernels[here()].known, reader)) report_race(far, "written", "read", reader);
    }
    note_write(page, begin, begin + bytes, how);
}

// From here on the writes have arrived: whoever learns of this moment may rely on them.
void order_write_barrier(uint32_t noc, int32_t trid) {
    if (!ordering || unacknowledged[here()].empty()) return;
    std::vector<TensorPage*>& waiting = unacknowledged[here()];
    const Moment moment = now();
    std::size_t left = 0;
    for (TensorPage* const page : waiting) {
        if (page->written.kernel != moment.kernel) continue;  // written again by another since
        if (page->noc != noc || (trid != kAnyTrid && page->trid != static_cast<uint32_t>(trid))) {
            waiting[left++] = page;
            continue;
        }
        page->pending = false;
        page->written.time = moment.time;
    }
    waiting.resize(left);
}

void order_set(uint32_t offset, uint32_t value) {
    if (!ordering) return;
    OrderedCore& at = cores[core->index];
    Word& word = at.word_at(offset);
    for (const Moment& signal : word.arrived) {
        if (knows(kernels[here()].known, signal)) continue;
        complain("semaphore", "this store of %u and the signal of %s to the same word: nothing orders the two, so one may be "
               "lost", value, kernel_name(signal).text);
    }
    word.arrived.clear();
    word.set = now();
    word.value = value;
    word.seen = {};
    release(word.signals);
    release(at.arrived);
}

void order_passed(uint32_t offset) {
    if (!ordering) return;
    OrderedCore& at = cores[core->index];
    const Word* const word = at.find(offset);
    learn(word ? word->signals : at.arrived);
}

void order_saw(uint32_t offset, uint32_t value) {
    if (!ordering) return;
    Word& word = cores[core->index].word_at(offset);
    word.seen = now();
    word.seen_value = value;
}

// The wait passed under this schedule; a kernel that looks later would not have seen the value any more.
void order_value_gone(const Flight& flight, uint32_t before, uint32_t now) {
    if (!ordering) return;
    Word& word = cores[flight.to->index].word_at(flight.offset);
    const Moment seen = word.seen;
    word.seen = {};
    if (seen.kernel == kNobody || word.seen_value != before || knows(*flight.order, seen)) return;
    complain("semaphore-missed", "this signal turns %u into %u, and nothing tells its sender that the wait for %u by %s has seen it",
             before, now, before, kernel_name(seen).text);
}

void order_poll() {
    if (ordering) learn(cores[core->index].arrived);
}

}  // namespace vd
