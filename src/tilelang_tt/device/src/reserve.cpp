// Room for pages: a producer waits for it, and compute, which may have to make it itself, goes on until it packs or pushes.
//
//     cb_reserve_back(own, n);   pack waits here for room ...
//     cb_pop_front(own, n);      ... that unpack makes: on a chip each goes through the text by itself
//     cb_push_back(own, n);      pack's next call: now the room must be there
//
// Compute is one fiber, so a reserve of its own buffer that finds no room is owed until pack relies on it.
#include "circular_buffer.h"
#include "order.h"

namespace vd {

void grant_reserve(uint32_t cb, uint32_t pages) {
    while (!cb_has_room(*core, cb, pages)) {
        fiber->wait = Wait::Reserve;
        fiber->wait_cb = cb;
        fiber->wait_pages = pages;
        yield_to_scheduler();
    }
    CbState& state = core->cbs[cb];
    for (; state.reserved < pages; ++state.reserved) {
        renew_page(cb, (state.back_page + state.reserved) % cb_config(cb).pages);
    }
    order_reserve(cb);
}

bool owe_reserve(uint32_t cb, uint32_t pages) {
    if (fiber->role != Role::Compute) return false;
    std::vector<OwedReserve>& owed = core->engine.owed;
    const Role consumer = core->cbs[cb].consumer;
    const bool own = consumer == Role::Compute || consumer == Role::Any;
    if (own && (!owed.empty() || !cb_has_room(*core, cb, pages))) {
        owed.push_back({cb, pages, fiber->line});
        return true;
    }
    settle_reserves();
    return false;
}

void settle_reserves() {
    if (fiber->role != Role::Compute || core->engine.owed.empty()) return;
    const uint32_t line = fiber->line;
    for (const OwedReserve& one : core->engine.owed) {
        fiber->line = one.line;
        grant_reserve(one.cb, one.pages);
    }
    core->engine.owed.clear();
    fiber->line = line;
}

}  // namespace vd
