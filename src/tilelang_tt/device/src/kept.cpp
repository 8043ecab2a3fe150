// Calls of compute that one of its processors cannot carry out yet: see kept.h.
#include "kept.h"

#include <utility>

namespace vd {
namespace {

constexpr std::size_t kMostKept = 1 << 16;  // calls; a processor that is further behind stops the others

bool is_met(const Core& at, const KeptCall& call) {
    const Engine& engine = at.engine;
    switch (call.need) {
        case Need::Room: return cb_has_room(at, call.cb, call.pages);
        case Need::Pages: return cb_has_data(at, call.cb, call.pages);
        case Need::Commit: return engine.owners.committed != 0;
        case Need::Section: return has_free_section(at);
        case Need::Mailbox: return mailboxes_have_room(at, call.cb);
        default: return true;
    }
}

void carry_out() {
    std::vector<KeptCall>& kept = core->engine.kept;
    const uint32_t line = fiber->line;
    fiber->carrying = true;
    while (can_carry_out(*core, *fiber)) {
        std::vector<KeptCall> calls;
        calls.swap(kept);
        fiber->waiting = 0;
        for (KeptCall& one : calls) {
            if ((one.processors & fiber->waiting) != 0 || !is_met(*core, one)) {
                fiber->waiting |= one.processors;
                kept.push_back(std::move(one));
                continue;
            }
            fiber->line = one.line;
            one.call();
        }
    }
    fiber->carrying = false;
    fiber->line = line;
}

void wait_in(Need need, uint32_t cb, uint32_t pages) {
    fiber->wait = need == Need::Room ? Wait::Reserve : need == Need::Pages ? Wait::Front : Wait::Mailbox;
    fiber->wait_cb = fiber->wait_from = cb;
    fiber->wait_pages = pages;
    yield_to_scheduler();
    if (can_carry_out(*core, *fiber)) carry_out();
}

// What another kernel can bring: pages, room for them or for words; nullptr: what is kept waits for a commit.
const KeptCall* first_at_a_buffer() {
    for (const KeptCall& one : core->engine.kept) {
        if (one.need == Need::Room || one.need == Need::Pages || one.need == Need::Mailbox) return &one;
    }
    return nullptr;
}

}  // namespace

bool can_carry_out(const Core& at, const Fiber& which) {
    uint8_t behind = 0;
    for (const KeptCall& one : at.engine.kept) {
        if (behind == which.waiting) return false;
        if ((one.processors & behind) == 0 && is_met(at, one)) return true;
        behind |= one.processors;
    }
    return false;
}

bool keeps(uint8_t processors) {
    if (fiber->carrying) return (fiber->waiting & processors) != 0;
    if (can_carry_out(*core, *fiber)) carry_out();
    if (core->engine.kept.size() >= kMostKept) catch_up(kAll, "another call");
    return (fiber->waiting & processors) != 0;
}

void keep(uint8_t processors, uint32_t line, const Later& call, Need need, uint32_t cb, uint32_t pages) {
    core->engine.kept.push_back({processors, need, line, cb, pages, call});
    fiber->waiting |= processors;
}

const uint32_t* kept_words(const uint32_t* words, uint32_t count) {
    const std::vector<uint32_t> copy(words, words + count);
    for (const std::vector<uint32_t>& known : core->engine.kept_words) {
        if (known == copy) return known.data();
    }
    core->engine.kept_words.push_back(copy);
    return core->engine.kept_words.back().data();
}

void catch_up(uint8_t processors, const char* what) {
    if (fiber->waiting == 0 || fiber->carrying) return;
    const uint32_t line = fiber->line;
    if (can_carry_out(*core, *fiber)) carry_out();
    while ((fiber->waiting & processors) != 0) {
        const KeptCall* const first = first_at_a_buffer();
        if (first == nullptr) {
            fiber->line = core->engine.kept.front().line;
            breach("dst-protocol", "tile_regs_wait, but no tile_regs_commit before %s (line %u)", what, line);
        }
        fiber->line = first->line;
        fiber->at_a_stand = true;
        wait_in(first->need, first->cb, first->pages);
        fiber->at_a_stand = false;
    }
    fiber->line = line;
}

void carry_out_what_can_be() {
    if (fiber->waiting != 0 && can_carry_out(*core, *fiber)) carry_out();
}

void catch_up(uint32_t) { catch_up(kAll, "this call"); }

bool await_pages(Need need, uint32_t cb, uint32_t pages, bool made_by_compute) {
    const auto is_there = [=] { return need == Need::Room ? cb_has_room(*core, cb, pages) : cb_has_data(*core, cb, pages); };
    while (!is_there()) {
        const bool others_wait = std::exchange(fiber->others_wait, false);
        if (fiber->role == Role::Compute && (made_by_compute || fiber->carrying || others_wait)) return false;
        const uint32_t line = fiber->line;
        wait_in(need, cb, pages);
        fiber->line = line;
    }
    fiber->others_wait = false;
    return true;
}

bool let_compute_go_on(Core* const* cores, uint32_t count) {
    bool any = false;
    for (uint32_t i = 0; i < count; ++i) {
        Fiber& compute = cores[i]->fibers[static_cast<uint32_t>(Role::Compute)];
        const bool at_a_buffer = compute.wait == Wait::Reserve || compute.wait == Wait::Front;
        if (!compute.live || !at_a_buffer || compute.at_a_stand) continue;
        compute.others_wait = cores[i]->stirred = any = true;
    }
    return any;
}

}  // namespace vd
