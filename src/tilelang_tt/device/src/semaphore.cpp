// Semaphores: words of L1 at the same address on every core, changed by their own core and over the NoC.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "machine.h"
#include "order.h"
#include "vd/noc_abi.h"

namespace vd {
namespace {

uint32_t load(const Core& at, uint32_t offset) {
    uint32_t value;
    std::memcpy(&value, at.l1 + offset, sizeof value);
    return value;
}

void store(Core& at, uint32_t offset, uint32_t value) { std::memcpy(at.l1 + offset, &value, sizeof value); }

uint32_t id_at(uint32_t offset) { return (offset - device.chip.semaphore_offset(0)) / kSemaphoreStride; }

// Kernels may also keep flags in a circular buffer of their own.
uint32_t word_offset(uint32_t l1_addr, const char* call) {
    const uint32_t offset = l1_offset(l1_addr);
    CbSpan span;
    if (offset % 4 != 0 || (!is_semaphore(*core, offset, 4) && !find_cb(offset, 4, span))) {
        breach("semaphore", "%s at L1 address 0x%x, where neither a semaphore nor a circular buffer lies", call,
               offset);
    }
    return offset;
}

bool was_missed(const Core& at, uint32_t offset, uint32_t value) {
    if (!is_semaphore(at, offset, 4)) return false;
    const std::vector<uint32_t>& unseen = at.semaphores[id_at(offset)].unseen;
    return std::find(unseen.begin(), unseen.end(), value) != unseen.end();
}

// The value of a semaphore is taken note of: what comes now is new.
void look_at(uint32_t offset) {
    if (is_semaphore(*core, offset, 4)) core->semaphores[id_at(offset)].unseen.clear();
}

const char* name_of(const Core& at, uint32_t offset, char (&name)[48]) {
    if (is_semaphore(at, offset, 4)) {
        std::snprintf(name, sizeof name, "semaphore %u", id_at(offset));
    } else {
        std::snprintf(name, sizeof name, "the word at L1 address 0x%x", offset);
    }
    return name;
}

}  // namespace

bool is_semaphore(const Core& at, uint32_t offset, uint32_t bytes) {
    const uint32_t base = device.chip.semaphore_offset(0);
    if (offset < base || offset >= device.chip.semaphore_offset(kMaxSemaphores) || bytes != 4) return false;
    return at.group->semaphores[id_at(offset)].used && (offset - base) % kSemaphoreStride == 0;
}

void forget_signals(Core& at) {
    for (SemaphoreLog& log : at.semaphores) log.signals.clear(), log.unseen.clear(), log.changes = 0;
}

uint32_t semaphore_changes(const Core& at, uint32_t offset) { return at.semaphores[id_at(offset)].changes; }

// A kernel that looks often enough sees every value, so one that is gone passes too: `vd_semaphore_wait` complains of it.
bool semaphore_passes(const Core& at, const Fiber& which) {
    const uint32_t value = load(at, which.wait_offset);
    if (which.wait == Wait::SemaphoreMin) return value >= which.wait_value;
    return value == which.wait_value || was_missed(at, which.wait_offset, which.wait_value);
}

void note_signal(const Flight& flight, uint32_t before) {
    SemaphoreLog& log = flight.to->semaphores[id_at(flight.offset)];
    ++log.changes;
    log.signals.push_back(static_cast<uint16_t>(flight.core->index));
    const uint32_t now = load(*flight.to, flight.offset);
    if (now == before) return;
    order_value_gone(flight, before, now);
    log.unseen.push_back(before);
}

void describe_semaphore_wait(const Core& at, const Fiber& which, char* out, std::size_t size) {
    char name[48];
    const uint32_t value = load(at, which.wait_offset);
    const bool at_least = which.wait == Wait::SemaphoreMin;
    int used = std::snprintf(out, size, "waits for %s to be %s%u: it is %u", name_of(at, which.wait_offset, name),
                             at_least ? "at least " : "", which.wait_value, value);
    if (!is_semaphore(at, which.wait_offset, 4)) return;
    const std::vector<uint16_t>& signals = at.semaphores[id_at(which.wait_offset)].signals;
    const auto say = [&](const char* format, auto... values) {
        if (used > 0 && static_cast<std::size_t>(used) < size) {
            used += std::snprintf(out + used, size - static_cast<std::size_t>(used), format, values...);
        }
    };
    if (signals.empty()) {
        say("%s", ", nobody has signalled it since it was set");
        return;
    }
    say("%s", ", signalled by");
    constexpr std::size_t kNamed = 8;
    for (std::size_t i = 0; i < signals.size() && i < kNamed; ++i) {
        const CoreConfig& from = device.launch->cores[signals[i]];
        say("%s (%u,%u)", i ? "," : "", from.x, from.y);
    }
    if (signals.size() > kNamed) say(" and %zu more", signals.size() - kNamed);
    if (!at_least && value > which.wait_value) say("%s", "; it is past the value that is awaited");
}

}  // namespace vd

using namespace vd;

extern "C" {

uint32_t vd_semaphore_addr(uint32_t id, uint32_t line) {
    enter(line);
    if (id >= kMaxSemaphores || !core->group->semaphores[id].used) {
        breach("semaphore", "the program gives this core no semaphore %u", id);
    }
    return l1_address(device.chip.semaphore_offset(id));
}

void vd_semaphore_wait(uint32_t l1_addr, uint32_t value, bool at_least, uint32_t line) {
    enter(line);
    fiber->wait_offset = word_offset(l1_addr, "a wait");
    fiber->wait_value = value;
    note::await_word(fiber->wait_offset, value, at_least);
    maybe_give_way();
    for (;;) {
        fiber->wait = at_least ? Wait::SemaphoreMin : Wait::SemaphoreEqual;
        if (semaphore_passes(*core, *fiber)) break;
        yield_to_scheduler();
    }
    fiber->wait = Wait::None;
    const uint32_t offset = fiber->wait_offset, now = load(*core, offset);
    if (!at_least && now != value) {
        char name[48];
        complain("semaphore-missed", "%s was %u and is %u before this wait for %u has seen it: nothing tells its senders to wait",
                 name_of(*core, offset, name), value, now, value);
    }
    look_at(offset);
    order_passed(offset);
    if (!at_least) order_saw(offset, value);
}

void vd_semaphore_set(uint32_t l1_addr, uint32_t value, uint32_t line) {
    enter(line);
    const uint32_t offset = word_offset(l1_addr, "a store");
    uint32_t other = 0;
    if (overlaps_pending(fiber->writes, offset, 4, other)) {
        complain("noc-write-flush", "the source of the write of line %u is overwritten before it has left", other);
        leave_in_time(offset, 4);
    }
    Core* who = nullptr;
    if (signal_under_way(*core, offset, other, who)) {
        char name[48];
        breach("semaphore",
               "%s is set to %u while the increment of core (%u,%u), line %u, is on its way: one of them is lost",
               name_of(*core, offset, name), value, who->x, who->y, other);
    }
    note::set_word(offset, load(*core, offset), value);
    order_set(offset, value);
    store(*core, offset, value);
    if (is_semaphore(*core, offset, 4)) {
        SemaphoreLog& log = core->semaphores[id_at(offset)];
        log.signals.clear();
        ++log.changes;
    }
    look_at(offset);
    maybe_give_way();
}

uint32_t vd_semaphore_value(uint32_t l1_addr, uint32_t line) {
    enter(line);
    const uint32_t offset = word_offset(l1_addr, "a load");
    poll();
    order_passed(offset);
    look_at(offset);
    note::await_word(offset, load(*core, offset), true);
    return load(*core, offset);
}

}  // extern "C"
