// Loads and stores of kernels through pointers; of compute kernels, whether they stay in what is theirs.
//
// Kernels reach their L1 through plain pointers, which call nothing. Their files are therefore compiled with the
// compiler's instrumentation for thread sanitizers (-fsanitize=thread), which calls the functions below before every
// load and store that is not of a local variable; no sanitizer is linked. A runner that is itself built with that
// sanitizer leaves them out.
#include <cstdio>
#include <cstring>

#include "circular_buffer.h"
#include "machine.h"
#include "order.h"

#if !defined(__SANITIZE_THREAD__)

namespace vd {
namespace {

void require_transfers_done(uint32_t offset, uint32_t bytes, bool store) {
    uint32_t line = 0;
    if (!fiber->reads.empty() && overlaps_pending(fiber->reads, offset, bytes, line)) {
        complain("noc-read-barrier", "after this line L1 address 0x%x is %s through a pointer, while the read of line %u "
               "is under way", offset, store ? "stored to" : "loaded", line);
    }
    if (store && !fiber->writes.empty() && overlaps_pending(fiber->writes, offset, bytes, line)) {
        complain("noc-write-flush", "after this line L1 address 0x%x is stored to through a pointer, before the write of "
               "line %u has left", offset, line);
        leave_in_time(offset, bytes);
    }
}

struct Neighbour {
    uint32_t cb = kMaxCbs, bytes = 0;  // from its end to the store
};
Neighbour buffer_before(uint32_t offset) {
    Neighbour nearest;
    for (const uint32_t id : core->group->cb_ids) {
        const CbConfig& config = core->group->cbs[id];
        const uint32_t end = config.offset + config.pages * config.page_bytes;
        if (end <= offset && (nearest.cb == kMaxCbs || offset - end < nearest.bytes)) nearest = {id, offset - end};
    }
    return nearest;
}

// A store to L1 that is no buffer of this core.
void require_known_place(uint32_t offset, uint32_t bytes) {
    uint32_t page = 0;
    const uint32_t bank = core->y * device.chip.grid_x + core->x;
    if (is_semaphore(*core, offset, bytes) || in_arguments(offset, bytes) || tensor_at(false, bank, offset, page)) return;
    const Neighbour before = buffer_before(offset);
    if (before.cb == kMaxCbs) {
        breach("l1-bounds", "after this line L1 address 0x%x is stored to through a pointer, where nothing of this program "
               "lies", offset);
    }
    breach("l1-bounds", "after this line L1 address 0x%x is stored to through a pointer, %u bytes past the end of CB %u '%s', "
           "where nothing of this program lies", offset, before.bytes, before.cb, core->group->cbs[before.cb].name);
}

bool lies_in_several(uint32_t offset, uint32_t bytes) {
    uint32_t found = 0;
    for (const uint32_t id : core->group->cb_ids) {
        const CbConfig& config = core->group->cbs[id];
        const uint64_t end = config.offset + static_cast<uint64_t>(config.pages) * config.page_bytes;
        if (offset >= config.offset && offset + static_cast<uint64_t>(bytes) <= end) ++found;
    }
    return found > 1;
}

// A store to a page of a buffer that another kernel fills. Kernels with semaphores may have agreed on it.
void require_not_of_another(const CbSpan& span, uint32_t offset, uint32_t bytes) {
    const CbState& state = core->cbs[span.cb];
    const bool foreign = state.producer != Role::Any && state.producer != fiber->role && !is_waited(span);
    if (!foreign || core->group->cbs[span.cb].on_tensor || device.launch->semaphores || lies_in_several(offset, bytes)) return;
    const Neighbour before = buffer_before(core->group->cbs[span.cb].offset);
    char past[96] = "";
    if (before.cb != kMaxCbs && before.bytes < kMarkStep) {
        std::snprintf(past, sizeof past, "; CB %u '%s' ends before it", before.cb, core->group->cbs[before.cb].name);
    }
    complain("cb-unreserved-write", "after this line page %u of CB %u '%s' is stored to through a pointer, but the %s fills "
             "it%s", span.first_page, span.cb, core->group->cbs[span.cb].name, role_name(state.producer), past);
}

// The producer may store to what it has reserved, the consumer may load what it has waited for; of buffers without
// protocol, and of those that lie on a tensor, nothing is known.
void require_granted(const CbSpan& span, bool store) {
    const CbConfig& config = core->group->cbs[span.cb];
    const CbState& state = core->cbs[span.cb];
    if (config.on_tensor || is_reserved(span) || is_waited(span)) return;
    if (store && state.producer == fiber->role) {
        complain("cb-unreserved-write", "after this line page %u of CB %u '%s' is stored to through a pointer, but this "
               "kernel has not reserved it", span.first_page, span.cb, config.name);
    }
    if (!store && state.consumer == fiber->role && !is_own_push(span)) {
        complain("cb-unwaited-read", "after this line page %u of CB %u '%s' is loaded through a pointer, but this kernel "
               "has not waited for it", span.first_page, span.cb, config.name);
    }
}

void require_initialised(uint32_t offset, const CbSpan& span) {
    uint8_t poison[kMarkBytes];
    std::memset(poison, kPoison, sizeof poison);
    if (std::memcmp(core->l1 + offset / kMarkBytes * kMarkBytes, poison, sizeof poison) != 0) return;
    if (has_element(span, offset)) return;
    complain("l1-uninitialised", "after this line L1 address 0x%x, in CB %u '%s', is loaded through a pointer, and nobody "
           "has written it", offset, span.cb, core->group->cbs[span.cb].name);
}

// What a kernel has stored itself it may load; what transfers brought is not there.
void require_no_data(uint32_t offset, const CbSpan& span) {
    if (has_element(span, offset)) return;
    depends_on_data("after this line the kernel loads from CB %u '%s', and what it does next may depend on it", span.cb,
                    core->group->cbs[span.cb].name);
}

void access(const void* address, uint32_t bytes, bool store) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(address);
    if (at >= kAboveL1 || !fiber) return;
    const uintptr_t base = reinterpret_cast<uintptr_t>(core->l1);
    if (at < base || at + bytes > base + device.l1_window) {
        if (!in_some_l1(at)) return;
        breach("l1-bounds", "after this line a %s goes through a pointer to 0x%llx, which is not in the L1 of its core",
               store ? "store" : "load", static_cast<unsigned long long>(at));
    }
    const uint32_t offset = static_cast<uint32_t>(at - base);
    CbSpan span;
    // Its three processors are not where the text is, so what compute was granted is not asked.
    if (fiber->role == Role::Compute) {
        if (store && !find_cb(offset, bytes, span)) require_known_place(offset, bytes);
        return;
    }
    require_transfers_done(offset, bytes, store);
    if (!find_cb(offset, bytes, span)) return store ? require_known_place(offset, bytes) : void();
    require_granted(span, store);
    if (store) require_not_of_another(span, offset, bytes);
    if (store) note_stored(span, offset, bytes);
    if (!store && device.numberless) return require_no_data(offset, span);
    if (!store) require_initialised(offset, span);
    if (!store && is_waited(span)) require_published(span, offset, bytes);
    order_l1_use(offset, bytes, store ? "stored to" : "loaded");
}

}  // namespace
}  // namespace vd

extern "C" {

#define VD_ACCESS(bytes)                                                                       \
    void __tsan_read##bytes(void* at) { vd::access(at, bytes, false); }                        \
    void __tsan_write##bytes(void* at) { vd::access(at, bytes, true); }                        \
    void __tsan_unaligned_read##bytes(void* at) { vd::access(at, bytes, false); }              \
    void __tsan_unaligned_write##bytes(void* at) { vd::access(at, bytes, true); }              \
    void __tsan_volatile_read##bytes(void* at) { vd::access(at, bytes, false); }               \
    void __tsan_volatile_write##bytes(void* at) { vd::access(at, bytes, true); }               \
    void __tsan_unaligned_volatile_read##bytes(void* at) { vd::access(at, bytes, false); }     \
    void __tsan_unaligned_volatile_write##bytes(void* at) { vd::access(at, bytes, true); }     \
    void __tsan_read_write##bytes(void* at) { vd::access(at, bytes, false), vd::access(at, bytes, true); } \
    void __tsan_unaligned_read_write##bytes(void* at) { vd::access(at, bytes, false), vd::access(at, bytes, true); }

VD_ACCESS(1)
VD_ACCESS(2)
VD_ACCESS(4)
VD_ACCESS(8)
VD_ACCESS(16)
#undef VD_ACCESS

void __tsan_read_range(void* at, std::size_t bytes) { vd::access(at, static_cast<uint32_t>(bytes), false); }
void __tsan_write_range(void* at, std::size_t bytes) { vd::access(at, static_cast<uint32_t>(bytes), true); }
void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
    __tsan_read_range(const_cast<void*>(from), bytes);
    __tsan_write_range(to, bytes);
    return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
    __tsan_read_range(const_cast<void*>(from), bytes);
    __tsan_write_range(to, bytes);
    return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, std::size_t bytes) {
    __tsan_write_range(to, bytes);
    return std::memset(to, value, bytes);
}

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

}  // extern "C"

#endif
