// What the pages of circular buffers hold: written, packed, published without either, given up.
#include <algorithm>
#include <cstring>

#include "circular_buffer.h"
#include "order.h"

namespace vd {
namespace {

// A page that nobody holds is marked, so that a kernel which pushes it again unwritten is found out, even
// though it may store through pointers, which leaves no other trace.
void mark_free(uint8_t* page, uint32_t bytes) {
    if (device.numberless) return;
    depart_from(page, bytes);  // a mark is no write of the program's: what is on its way from here keeps its bytes
    for (uint32_t at = 0; at < bytes; at += kMarkStep) {
        std::memset(page + at, kPoison, bytes - at < kMarkBytes ? bytes - at : kMarkBytes);
    }
}

struct Marks {
    uint32_t left = 0, gone = 0;
};
Marks marks_of(const uint8_t* page, uint32_t from, uint32_t to) {
    uint8_t mark[kMarkBytes];
    std::memset(mark, kPoison, sizeof mark);
    Marks marks;
    for (uint32_t at = (from + kMarkStep - 1) / kMarkStep * kMarkStep; at + kMarkBytes <= to; at += kMarkStep) {
        ++(std::memcmp(page + at, mark, sizeof mark) == 0 ? marks.left : marks.gone);
    }
    return marks;
}

// A page that transfers fill must be filled whole. One that a kernel stores to itself may have elements that do not
// matter: a value per row in the first column, say. Kernels that are not watched show by a mark that they stored.
bool was_filled(uint32_t cb, uint32_t number) {
    const CbConfig& config = cb_config(cb);
    const Page& page = core->cbs[cb].pages[number];
    if (page.landed >= config.page_bytes || page.stored || device.numberless) return true;
    const Marks marks = marks_of(core->l1 + page_offset(cb, number), 0, config.page_bytes);
    return marks.left == 0 || (page.landed == 0 && marks.gone != 0);
}

// Whether another buffer over the same bytes holds something there: it was filled under that name.
bool filled_as_alias(uint32_t cb, uint32_t number) {
    const CbConfig& config = cb_config(cb);
    const uint32_t begin = page_offset(cb, number), end = begin + config.page_bytes;
    for (const uint32_t id : core->group->cb_ids) {
        const CbConfig& other = core->group->cbs[id];
        if (id == cb || begin < other.offset || end > other.offset + other.pages * other.page_bytes) continue;
        const CbState& state = core->cbs[id];
        bool whole = true;
        for (uint32_t page = (begin - other.offset) / other.page_bytes; page * other.page_bytes < end - other.offset;
             ++page) {
            const Page& there = state.pages[page];
            whole = whole && !there.popped && (there.written || there.packed);
        }
        if (whole) return true;
    }
    return false;
}

// Bytes that are pages of another buffer too may still be in use under that name.
bool has_alias(uint32_t cb) {
    const CbConfig& config = cb_config(cb);
    for (const uint32_t id : core->group->cb_ids) {
        const CbConfig& other = core->group->cbs[id];
        const bool apart = other.offset >= config.offset + config.pages * config.page_bytes ||
                           config.offset >= other.offset + other.pages * other.page_bytes;
        if (id != cb && !apart) return true;
    }
    return false;
}

// Whether some kernel of this core still sends the page.
bool is_leaving(uint32_t cb, uint32_t number) {
    uint32_t line = 0;
    for (const Fiber& one : core->fibers) {
        if (overlaps_pending(one.writes, page_offset(cb, number), cb_config(cb).page_bytes, line)) return true;
    }
    return false;
}

void mark_blocks(const CbSpan& span, uint32_t offset, uint32_t bytes) {
    for (uint32_t number = span.first_page; number <= span.last_page; ++number) {
        const uint32_t begin = page_offset(span.cb, number), end = page_offset(span.cb, number + 1);
        std::vector<bool>& blocks = core->cbs[span.cb].pages[number].blocks;
        const uint32_t first = begin / kMarkBytes, last = (end - 1) / kMarkBytes;
        blocks.resize(last - first + 1);
        const uint32_t from = std::max(offset, begin) / kMarkBytes, to = (std::min(offset + bytes, end) - 1) / kMarkBytes;
        for (uint32_t block = from; block <= to; ++block) blocks[block - first] = true;
    }
}

}  // namespace

bool is_fresh(uint32_t cb, uint32_t number) {
    const Page& page = core->cbs[cb].pages[number];
    if (page.landed != 0 || page.stored || page.written || device.numberless) return false;
    const Marks marks = marks_of(core->l1 + page_offset(cb, number), 0, cb_config(cb).page_bytes);
    return marks.gone == 0 && marks.left != 0;
}

// A page may be pushed unwritten, as a mere signal or to bring the counts round the buffer; whoever reads it is wrong.
void note_unwritten(uint32_t cb, uint32_t pages) {
    const bool on_tensor = cb_config(cb).on_tensor;
    CbState& state = core->cbs[cb];
    const bool by_compute = state.producer == Role::Compute;
    bool any = false;
    for (uint32_t i = 0; i < pages; ++i) any = any || state.pages[(state.back_page + i) % state.pages.size()].packed;
    for (uint32_t i = 0; i < pages; ++i) {
        const uint32_t number = static_cast<uint32_t>((state.back_page + i) % state.pages.size());
        Page& page = state.pages[number];
        // A buffer of compute's own keeps its contents when it is taken back: they may be handed on again.
        // Not if compute has left a result unused since then: that one was meant for this page.
        const bool lost = page.stale || page.lossy_before != core->engine.lossy_sections;
        const bool kept = by_compute && state.consumer == Role::Compute && page.written && (any || !lost);
        const bool filled = by_compute && !on_tensor ? filled_as_alias(cb, number) : was_filled(cb, number);
        page.written = page.packed || kept || filled;
        page.unwritten_line = page.written ? 0 : fiber->line;
        page.packed = page.in_part = false;
        page.pushed = true;
        if (on_tensor && !page.written) {  // the tensor is the result: nobody else will look at it
            complain("cb-unwritten", "page %u of CB %u '%s', a tensor's, was not %s since it was free", number, cb,
                   cb_config(cb).name, by_compute ? "packed" : "wholly written");
        }
    }
}

static bool is_computes_own(const CbState& state) {  // may be updated in place
    return state.producer == Role::Compute && state.consumer == Role::Compute;
}

void free_pages(uint32_t cb, uint32_t pages) {
    CbState& state = core->cbs[cb];
    const bool own = is_computes_own(state);
    for (uint32_t number = state.read_page; number < state.read_page + pages; ++number) {
        Page& page = state.pages[number];
        if (own) page.freed_in = core->engine.sections;
        page.popped = !own;
    }
}

// Not when it is popped: until its producer reserves it again nobody writes it, and the producer may read it.
void renew_page(uint32_t cb, uint32_t number) {
    const CbConfig& config = cb_config(cb);
    CbState& state = core->cbs[cb];
    Page& page = state.pages[number];
    // Taken back while a DST section is open, or after one has passed, it is meant to be packed.
    const Engine& engine = core->engine;
    page.lossy_before = engine.lossy_sections;
    page.stale = state.consumer == Role::Compute && (page.freed_in != engine.sections || !engine.owners.free());
    if (is_computes_own(state) || !page.popped) return;
    page = Page{};
    const bool unmarkable = state.producer == Role::Compute || config.on_tensor || state.prefilled || has_alias(cb);
    if (!unmarkable && !is_leaving(cb, number)) mark_free(core->l1 + page_offset(cb, number), config.page_bytes);
}

void grant_reserve(uint32_t cb, uint32_t pages) {
    CbState& state = core->cbs[cb];
    for (; state.reserved < pages; ++state.reserved) {
        renew_page(cb, (state.back_page + state.reserved) % cb_config(cb).pages);
    }
    order_reserve(cb);
}

// Told where it was pushed: there a write is missing.
void refuse_unwritten(const UnwrittenPage& page) {
    const CbState& state = core->cbs[page.cb];
    Fiber& user = *fiber;
    Fiber& producer = core->fibers[static_cast<uint32_t>(state.producer)];
    const uint32_t line = user.line, reached = producer.line;
    fiber = &producer;
    fiber->line = page.pushed_line;
    complain("cb-unwritten", "page %u of CB %u '%s' was not %s since it was free, and line %u of the %s uses it",
           page.number, page.cb, cb_config(page.cb).name,
           state.producer == Role::Compute ? "packed" : "wholly written", line, role_name(user.role));
    producer.line = reached;
    user.line = line;
    fiber = &user;
}

const uint8_t* published_page(uint32_t cb, uint32_t number) {
    const uint32_t line = core->cbs[cb].pages[number].unwritten_line;
    if (line != 0) refuse_unwritten({cb, number, line});
    return core->l1 + page_offset(cb, number);
}

void require_published(const CbSpan& span, uint32_t offset, uint32_t bytes) {
    const CbState& state = core->cbs[span.cb];
    for (uint32_t number = span.first_page; number <= span.last_page; ++number) {
        if (state.pages[number].unwritten_line == 0) continue;
        // Of a page that was written in part, the part that is used must have been.
        const uint32_t begin = page_offset(span.cb, number), end = page_offset(span.cb, number + 1);
        const uint32_t from = offset > begin ? offset - begin : 0;
        const uint32_t to = (offset + bytes < end ? offset + bytes : end) - begin;
        if (state.producer == Role::Compute || marks_of(core->l1 + begin, from, to).left != 0) {
            refuse_unwritten({span.cb, number, state.pages[number].unwritten_line});
        }
    }
}

void note_stored(const CbSpan& span, uint32_t offset, uint32_t bytes) {
    for (uint32_t number = span.first_page; number <= span.last_page; ++number) {
        core->cbs[span.cb].pages[number].stored = true;
    }
    mark_blocks(span, offset, bytes);
}

void note_elements(uint32_t offset, uint32_t bytes) {
    CbSpan span;
    if (find_cb(offset, bytes, span)) mark_blocks(span, offset, bytes);
}

bool has_element(const CbSpan& span, uint32_t offset) {
    const std::vector<bool>& blocks = core->cbs[span.cb].pages[span.first_page].blocks;
    return !blocks.empty() && blocks[offset / kMarkBytes - page_offset(span.cb, span.first_page) / kMarkBytes];
}

void note_landed(uint32_t offset, uint32_t bytes) {
    CbSpan span;
    if (!find_cb(offset, bytes, span)) return;
    for (uint32_t number = span.first_page; number <= span.last_page; ++number) {
        const uint32_t begin = page_offset(span.cb, number), end = page_offset(span.cb, number + 1);
        const uint32_t from = offset > begin ? offset : begin, to = offset + bytes < end ? offset + bytes : end;
        core->cbs[span.cb].pages[number].landed += to - from;
    }
}

}  // namespace vd
