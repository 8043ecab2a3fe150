// Circular buffers: the four protocol calls, and who may touch which page when.
#include "circular_buffer.h"
#include "kept.h"
#include "order.h"

namespace vd {
namespace {

// A buffer has one producer and one consumer: those of the configuration, else the first kernels that act as such.
void require_role(uint32_t cb, Role& known, const char* call, const char* side) {
    if (fiber->role == known) return;
    const CbState& state = core->cbs[cb];
    if (known != Role::Any) {
        complain("cb-role", "%s on CB %u '%s' by the %s, but the %s is its %s", call, cb, cb_config(cb).name,
               role_name(fiber->role), role_name(known), side);
        return;
    }
    if (state.scratch) {
        complain("cb-unreserved-write", "%s on CB %u '%s', which line %u of a kernel used as plain memory", call, cb,
               cb_config(cb).name, state.scratch_line);
    }
    known = fiber->role;
}

void require_producer(uint32_t cb, const char* call) {
    cb_config(cb);
    require_role(cb, core->cbs[cb].producer, call, "producer");
}

void require_consumer(uint32_t cb, const char* call) {
    cb_config(cb);
    require_role(cb, core->cbs[cb].consumer, call, "consumer");
}

void require_capacity(uint32_t cb, uint32_t pages, const char* call) {
    const CbConfig& config = cb_config(cb);
    if (pages > config.pages) {
        breach("cb-capacity", "%s(%u, %u): CB %u '%s' has %u pages", call, cb, pages, cb, config.name, config.pages);
    }
}

void require_no_pending(const std::vector<Transfer>& transfers, uint32_t cb, uint32_t page, uint32_t pages,
                        const char* category, const char* call, const char* advice) {
    const CbConfig& config = cb_config(cb);
    uint32_t line = 0;
    if (overlaps_pending(transfers, page_offset(cb, page), pages * config.page_bytes, line)) {
        complain(category, "%s on CB %u '%s' while the transfer of line %u is still under way: %s", call, cb, config.name,
               line, advice);
    }
}

// Pages `first .. first + granted`, counted from the reserved (or waited) base; after the last page comes the first.
bool within(uint32_t first, uint32_t granted, const CbSpan& span) {
    const uint32_t pages = core->group->cbs[span.cb].pages;
    for (uint32_t page = span.first_page; page <= span.last_page; ++page) {
        if (!is_granted(page, first, granted, pages)) return false;
    }
    return true;
}

}  // namespace

const char* role_name(Role role) {
    constexpr const char* kNames[kRoles + 1] = {"reader", "compute", "writer", "other kernel"};
    return kNames[static_cast<uint32_t>(role)];
}

uint32_t page_offset(uint32_t cb, uint32_t page) {
    const CbConfig& config = cb_config(cb);
    return config.offset + page * config.page_bytes;
}


void require_cb_id(uint32_t cb) {
    if (cb >= device.chip.cb_count) {
        breach("cb-id", "CB id %u: this chip has %u", cb, device.chip.cb_count);
    }
}

const CbConfig& cb_config(uint32_t cb) {
    require_cb_id(cb);
    const CbConfig& config = core->group->cbs[cb];
    if (!config.used) breach("cb-id", "the program gives this core no CB %u", cb);
    return config;
}

bool cb_has_room(const Core& at, uint32_t cb, uint32_t pages) {
    const CbState& state = at.cbs[cb];
    return at.group->cbs[cb].pages - (state.pushed - state.popped) >= pages;
}

bool cb_has_data(const Core& at, uint32_t cb, uint32_t pages) { return at.cbs[cb].pushed - at.cbs[cb].popped >= pages; }

// Whether a page of this buffer lies in pages of another one over the same L1 that this kernel has waited for.
static bool is_second_view(uint32_t cb, uint32_t page) {
    const CbConfig& config = cb_config(cb);
    CbSpan span{};
    return page < config.pages && find_cb(page_offset(cb, page), config.page_bytes, span) && span.cb != cb &&
           is_waited(span);
}

// A buffer on a shard is full when nobody produces into it: a kernel may use the shard without waiting for it.
static void take_shard(uint32_t cb) {
    const CbConfig& config = cb_config(cb);
    CbState& state = core->cbs[cb];
    if (!config.on_tensor || state.producer != Role::Any || state.pushed != 0) return;
    state.pushed = state.waited = config.pages;
    for (Page& page : state.pages) page.pushed = true;
    state.taken_line = fiber->line;
}

// And it is free when nobody has reserved it: results may be packed to it at once.
static void give_shard(uint32_t cb) {
    CbState& state = core->cbs[cb];
    if (cb_config(cb).on_tensor && state.reserved == 0 && state.pushed == 0) state.reserved = cb_config(cb).pages;
}

// Kernels compute how many pages they want, often none: also of a buffer that the program does not have.
static bool asks_for_nothing(uint32_t cb, uint32_t pages) {
    require_cb_id(cb);
    return pages == 0;
}

// What is pushed without being reserved may go on only where it overwrites nothing.
static void require_room(uint32_t cb, uint32_t pages, const char* call) {
    if (cb_has_room(*core, cb, pages)) return;
    breach("cb-push-without-reserve", "%s(%u, %u): pages that nobody has popped are overwritten", call, cb, pages);
}

// A data movement kernel may wait for what it pushed itself; that makes it no consumer, unless it pops.
static bool is_looking_at_its_own(uint32_t cb) {
    cb_config(cb);
    const CbState& state = core->cbs[cb];
    return fiber->role != Role::Compute && state.producer == fiber->role && state.consumer != fiber->role;
}

static void grant_wait(uint32_t cb, uint32_t pages, bool by_producer) {
    CbState& state = core->cbs[cb];
    uint32_t& waited = by_producer ? state.own_wait : state.waited;
    if (waited < pages) waited = pages;
    if (by_producer) return;
    for (const uint64_t end : state.push_ends) {
        if (state.sure >= state.popped + pages) break;
        state.sure = end;
    }
    order_wait(cb);
}

static void refuse_taken(uint32_t cb, const char* call) {
    if (core->cbs[cb].taken_line == 0) return;
    complain("cb-unwaited-read", "%s on CB %u '%s', but line %u of a kernel used it without waiting", call, cb,
           cb_config(cb).name, core->cbs[cb].taken_line);
}

// One row of a tile lies in two faces side by side.
static void require_row(uint32_t cb, uint32_t number, uint32_t row) {
    const uint32_t rows = std::min(kFace, cb_config(cb).tile_rows), faces = cb_config(cb).tile_rows > kFace ? 4 : 2;
    const uint32_t face_bytes = cb_config(cb).page_bytes / faces, row_bytes = face_bytes / rows;
    for (uint32_t face = row / kFace * 2, last = face + 1; face <= last; ++face) {
        const uint32_t at = page_offset(cb, number) + face * face_bytes + row % kFace * row_bytes;
        require_published({cb, number, number}, at, row_bytes);
    }
}

// A tile that begins inside a page ends inside the next one.
static const uint8_t* readable_between_pages(uint32_t cb, uint32_t tile) {
    const CbConfig& config = cb_config(cb);
    const CbState& state = core->cbs[cb];
    const uint32_t first = state.read_page + tile, last = first + 1;
    if (last >= config.pages) {
        breach("cb-wrap", "tile %u of CB %u '%s' reaches past the end of the buffer: its read pointer was moved %u bytes behind "
               "page %u of %u", tile, cb, config.name, state.read_shift, state.read_page, config.pages);
    }
    for (uint32_t page = first; page <= last; ++page) {
        const bool granted = page - state.read_page < state.waited && state.pages[page].pushed;
        if (granted || is_second_view(cb, page)) {
            published_page(cb, page);
            continue;
        }
        complain("cb-unwaited-read", "tile %u of CB %u '%s' is read behind a pointer that was moved, and page %u of it was not "
                 "waited for", tile, cb, config.name, page);
    }
    return core->l1 + page_offset(cb, first) + state.read_shift;
}

const uint8_t* readable_tile(uint32_t cb, uint32_t tile, uint32_t row) {
    const CbConfig& config = cb_config(cb);
    const CbState& state = core->cbs[cb];
    if (config.on_tensor) take_shard(cb);
    if (fiber->role != state.consumer) require_consumer(cb, "reading a tile");
    refuse_stray(cb, true);
    if (state.read_shift != 0) return readable_between_pages(cb, tile);
    if (tile >= state.waited && !is_second_view(cb, state.read_page + tile)) {
        complain("cb-unwaited-read", "tile %u of CB %u '%s' is read, but cb_wait_front has granted %u", tile, cb,
               config.name, state.waited);
    }
    if (state.read_page + tile >= config.pages) {
        breach("cb-wrap", "tile %u of CB %u '%s' lies past the end of the buffer (front at page %u of %u)", tile, cb,
               config.name, state.read_page, config.pages);
    }
    const uint32_t page = state.read_page + tile;
    if (state.moved && !state.pages[page].pushed) {
        complain("cb-unwaited-read", "tile %u of CB %u '%s' is read, behind a read pointer that was moved to where nothing "
                 "has been pushed", tile, cb, config.name);
    }
    const bool block = config.storage == DataFormat::Bfp8_b || config.storage == DataFormat::Bfp4_b;
    if (row == kAllRows || block) return published_page(cb, page);
    require_row(cb, page, row);
    return core->l1 + page_offset(cb, page);
}

UnwrittenPage unwritten_page(uint32_t cb, uint32_t tile) {
    const CbState& state = core->cbs[cb];
    const uint32_t number = state.read_page + tile;
    return {cb, number, number < cb_config(cb).pages ? state.pages[number].unwritten_line : 0};
}

bool is_back(uint32_t cb, uint32_t page) {
    const CbState& state = core->cbs[cb];
    const uint32_t pages = cb_config(cb).pages;
    return is_granted(page, state.back_page, state.reserved, pages);
}

void wait_for_pushed(uint32_t cb) {
    require_consumer(cb, "a reduction that waits for the packer");
    CbState& state = core->cbs[cb];
    state.waited = std::max(state.waited, static_cast<uint32_t>(state.pushed - state.popped));
}

uint8_t* packable_tile(uint32_t cb, uint32_t tile, uint32_t& page) {
    const CbConfig& config = cb_config(cb);
    CbState& state = core->cbs[cb];
    if (fiber->role != state.producer) require_producer(cb, "packing");
    if (config.on_tensor) give_shard(cb);
    refuse_stray(cb, false);
    page = state.write_page + tile;
    const bool again = state.held && page < config.pages && (is_back(cb, page) || state.pages[page].pushed);
    if (tile >= state.reserved && !again) {
        complain("cb-unreserved-write", "tile %u of CB %u '%s' is packed, but cb_reserve_back has granted %u", tile, cb,
               config.name, state.reserved);
    }
    if (page >= config.pages) {
        breach("cb-wrap", "tile %u of CB %u '%s' lies past the end of the buffer (back at page %u of %u)", tile, cb,
               config.name, state.write_page, config.pages);
    }
    if (state.write_shift == 0) return core->l1 + page_offset(cb, page);
    if (page + 1 >= config.pages) {
        breach("cb-wrap", "tile %u of CB %u '%s' reaches past the end of the buffer: its write pointer was moved %u bytes behind "
               "page %u of %u", tile, cb, config.name, state.write_shift, state.write_page, config.pages);
    }
    mark_packed(state.pages[page + 1]);
    state.pages[page + 1].in_part = true;
    return core->l1 + page_offset(cb, page) + state.write_shift;
}

bool find_cb(uint32_t offset, uint32_t bytes, CbSpan& span) {
    bool found = false;
    for (const uint32_t id : core->group->cb_ids) {
        const CbConfig& config = core->group->cbs[id];
        if (offset < config.offset) continue;
        const uint64_t end = config.offset + static_cast<uint64_t>(config.pages) * config.page_bytes;
        if (offset + static_cast<uint64_t>(bytes) > end) continue;
        const CbSpan here{id, (offset - config.offset) / config.page_bytes,
                          (offset + bytes - 1 - config.offset) / config.page_bytes};
        const bool held = is_reserved(here) || is_waited(here);
        if (held || !found) span = here;
        found = true;
        if (held) break;  // of several buffers over the same bytes, the one this kernel works with
    }
    return found;
}

bool is_scratch(const CbSpan& span) {
    CbState& state = core->cbs[span.cb];
    if (state.producer != Role::Any || state.consumer != Role::Any) return false;
    if (!state.scratch) state.scratch_line = fiber->line;
    state.scratch = true;
    return true;
}

bool is_reserved(const CbSpan& span) {
    const CbState& state = core->cbs[span.cb];
    return state.producer == fiber->role && within(state.write_page, state.reserved, span);
}

bool is_own_push(const CbSpan& span) {
    const CbState& state = core->cbs[span.cb];
    if (state.producer != fiber->role) return false;
    for (uint32_t page = span.first_page; page <= span.last_page; ++page) {
        if (!state.pages[page].pushed || within(state.write_page, state.reserved, {span.cb, page, page})) return false;
    }
    return true;
}

bool is_before_use(const CbSpan& span) {
    const CbState& state = core->cbs[span.cb];
    return (state.producer == Role::Any || state.producer == fiber->role) && state.pushed == 0 && state.reserved == 0;
}

bool is_waited(const CbSpan& span) {
    const CbState& state = core->cbs[span.cb];
    const bool alone = state.producer == fiber->role && state.consumer == Role::Any;
    if (alone) return within(state.read_page, state.own_wait, span);
    return state.consumer == fiber->role && within(state.read_page, state.waited, span);
}

bool is_past_wrap(uint32_t offset, uint32_t& cb) {
    for (const uint32_t id : core->group->cb_ids) {
        const CbConfig& config = core->group->cbs[id];
        const CbState& state = core->cbs[id];
        if (state.producer != fiber->role) continue;
        const uint32_t end = page_offset(id, config.pages);
        if (offset < end || offset >= page_offset(id, state.write_page + state.reserved)) continue;
        cb = id;
        return true;
    }
    return false;
}

void check_cbs_at_end() {
    for (const uint32_t id : core->group->cb_ids) {
        const CbConfig& config = core->group->cbs[id];
        const CbState& state = core->cbs[id];
        const uint64_t left = state.pushed - state.popped;
        // Constant tiles are pushed once, waited for and never popped: nothing is lost. Nor is a tensor's shard.
        const bool constant = state.popped == 0 && state.waited == state.pushed;
        // Nor what a data movement kernel pushes to a buffer that no kernel waits for, pops or reads: its own memory.
        const bool private_memory = state.consumer == Role::Any && state.producer != Role::Compute;
        if (left != 0 && !constant && !private_memory && !config.on_tensor) {
            const Role side = state.consumer == Role::Any ? state.producer : state.consumer;
            fiber = &core->fibers[static_cast<uint32_t>(side)];
            complain("cb-unbalanced", "at the end CB %u '%s' still holds %llu pages: %llu pushed, %llu popped", id,
                   config.name, static_cast<unsigned long long>(left), static_cast<unsigned long long>(state.pushed),
                   static_cast<unsigned long long>(state.popped));
        }
        for (const Page& page : state.pages) {
            if (!page.packed) continue;
            fiber = &core->fibers[static_cast<uint32_t>(state.producer)];
            complain("cb-unbalanced", "at the end CB %u '%s' holds packed pages that were never pushed", id, config.name);
        }
    }
}

}  // namespace vd

using namespace vd;

extern "C" {

void vd_cb_reserve_back(uint32_t cb, uint32_t pages, uint32_t line) {
    KEEP_OR_BEGIN(kPack, [=] { vd_cb_reserve_back(cb, pages, line); });
    note::buffer(note::Kind::Reserve, cb, pages);
    if (asks_for_nothing(cb, pages)) return;
    require_producer(cb, "cb_reserve_back");
    refuse_taken(cb, "cb_reserve_back");
    require_capacity(cb, pages, "cb_reserve_back");
    const bool own = core->cbs[cb].consumer == Role::Compute;
    if (!await_pages(Need::Room, cb, pages, own)) {
        return keep(kPack, line, [=] { grant_reserve(cb, pages); }, Need::Room, cb, pages);
    }
    grant_reserve(cb, pages);
}

void vd_cb_push_back(uint32_t cb, uint32_t pages, uint32_t line) {
    KEEP_OR_BEGIN(kPack, [=] { vd_cb_push_back(cb, pages, line); });
    note::buffer(note::Kind::Push, cb, pages);
    if (asks_for_nothing(cb, pages)) return;
    const CbConfig& config = cb_config(cb);
    CbState& state = core->cbs[cb];
    require_producer(cb, "cb_push_back");
    refuse_taken(cb, "cb_push_back");
    give_shard(cb);
    if (pages > state.reserved) {
        complain("cb-push-without-reserve", "cb_push_back(%u, %u): cb_reserve_back has granted %u pages of '%s'", cb,
               pages, state.reserved, config.name);
        require_room(cb, pages, "cb_push_back");
        state.reserved = pages;
    }
    refuse_stray(cb, false);
    if (state.write_page + pages > config.pages) {
        breach("cb-wrap", "cb_push_back(%u, %u): from page %u this steps past the end of the %u pages of '%s'", cb,
               pages, state.write_page, config.pages, config.name);
    }
    require_no_pending(fiber->reads, cb, state.back_page, pages, "noc-read-barrier", "cb_push_back",
                       "noc_async_read_barrier must come first");
    note_unwritten(cb, pages);
    order_l1_use(page_offset(cb, state.back_page), pages * config.page_bytes, "pushed");
    order_push(cb);
    state.pushed += pages;
    state.push_ends.push_back(state.pushed);
    state.write_page = (state.write_page + pages) % config.pages;
    state.back_page = (state.back_page + pages) % config.pages;
    state.reserved -= pages;
    state.pack_cursor = 0;
}

void vd_cb_wait_front(uint32_t cb, uint32_t pages, uint32_t line) {
    KEEP_OR_BEGIN(kUnpack, [=] { vd_cb_wait_front(cb, pages, line); });
    note::buffer(note::Kind::Wait, cb, pages);
    if (asks_for_nothing(cb, pages)) return;
    const bool by_producer = is_looking_at_its_own(cb);
    if (!by_producer) require_consumer(cb, "cb_wait_front");
    require_capacity(cb, pages, "cb_wait_front");
    const bool own = core->cbs[cb].producer == Role::Compute;
    if (!await_pages(Need::Pages, cb, pages, own)) {
        return keep(kUnpack, line, [=] { grant_wait(cb, pages, false); }, Need::Pages, cb, pages);
    }
    grant_wait(cb, pages, by_producer);
}

void vd_cb_pop_front(uint32_t cb, uint32_t pages, uint32_t line) {
    KEEP_OR_BEGIN(kUnpack, [=] { vd_cb_pop_front(cb, pages, line); });
    note::buffer(note::Kind::Pop, cb, pages);
    if (asks_for_nothing(cb, pages)) return;
    const CbConfig& config = cb_config(cb);
    CbState& state = core->cbs[cb];
    if (is_looking_at_its_own(cb) && state.consumer == Role::Any) state.waited = state.own_wait;
    require_consumer(cb, "cb_pop_front");
    take_shard(cb);
    // Pages come push by push: who has waited for some of them may pop all.
    if (pages > state.waited && state.popped + pages > state.sure) {
        complain("cb-pop-without-wait", "cb_pop_front(%u, %u): cb_wait_front has granted %u pages of '%s'", cb, pages,
               state.waited, config.name);
        if (!cb_has_data(*core, cb, pages)) {
            breach("cb-pop-without-wait", "cb_pop_front(%u, %u): nothing has been pushed that could be popped", cb, pages);
        }
    }
    if (state.read_page + pages > config.pages) {
        breach("cb-wrap", "cb_pop_front(%u, %u): from page %u this steps past the end of the %u pages of '%s'", cb,
               pages, state.read_page, config.pages, config.name);
    }
    require_no_pending(fiber->writes, cb, state.read_page, pages, "noc-write-flush", "cb_pop_front",
                       "noc_async_writes_flushed or noc_async_write_barrier must come first");
    free_pages(cb, pages);
    order_pop(cb);
    state.popped += pages;
    state.read_page = (state.read_page + pages) % config.pages;
    state.waited -= pages < state.waited ? pages : state.waited;
    while (!state.push_ends.empty() && state.push_ends.front() <= state.popped) {
        state.push_ends.erase(state.push_ends.begin());
    }
}

uint32_t vd_cb_pages(uint32_t cb, uint32_t line) {
    begin(line);
    require_cb_id(cb);
    return core->group->cbs[cb].pages;
}

// Of a buffer that the program does not have: address 0, where nothing lies that a transfer may use.
uint32_t vd_cb_write_ptr(uint32_t cb, uint32_t line) {
    begin(line);
    catch_up(kPack, "get_write_ptr");
    require_cb_id(cb);
    return l1_address(core->group->cbs[cb].used ? pointer_offset(cb, false) : 0);
}

uint32_t vd_cb_read_ptr(uint32_t cb, uint32_t line) {
    begin(line);
    catch_up(kUnpack, "get_read_ptr");
    require_cb_id(cb);
    return l1_address(core->group->cbs[cb].used ? pointer_offset(cb, true) : 0);
}

bool vd_cb_reservable(uint32_t cb, uint32_t pages, uint32_t line) {
    begin(line);
    catch_up(kPack, "cb_pages_reservable_at_back");
    cb_config(cb);
    if (cb_has_room(*core, cb, pages)) return true;
    poll();
    return cb_has_room(*core, cb, pages);
}

bool vd_cb_available(uint32_t cb, uint32_t pages, uint32_t line) {
    begin(line);
    catch_up(kUnpack, "cb_pages_available_at_front");
    cb_config(cb);
    if (cb_has_data(*core, cb, pages)) return true;
    poll();
    return cb_has_data(*core, cb, pages);
}

}  // extern "C"
