// What the sanitizers are told about switches between stacks. Nothing, in an ordinary build.
#pragma once

#include "machine.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VD_ADDRESS_SANITIZER
#elif __has_feature(thread_sanitizer)
#define VD_THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define VD_ADDRESS_SANITIZER
#elif defined(__SANITIZE_THREAD__)
#define VD_THREAD_SANITIZER
#endif

#if defined(VD_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(VD_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

namespace vd {

#if defined(VD_ADDRESS_SANITIZER)

// The stack may have held another fiber, whose frames are marked as dead.
inline void fiber_is_new(StackNotes& notes, void* stack, std::size_t size) {
    __asan_unpoison_memory_region(stack, size);
    notes = {nullptr, nullptr, stack, size};
}
inline void leave_scheduler(Core& at, const StackNotes& to) {
    __sanitizer_start_switch_fiber(&at.scheduler_notes.fake, to.bottom, to.size);
}
inline void scheduler_was_entered(Core& at) {
    __sanitizer_finish_switch_fiber(at.scheduler_notes.fake, nullptr, nullptr);
}
inline void leave_fiber(const Core& at, StackNotes& from) {
    __sanitizer_start_switch_fiber(&from.fake, at.scheduler_notes.bottom, at.scheduler_notes.size);
}
inline void fiber_was_entered(Core& at, void* fake) {
    __sanitizer_finish_switch_fiber(fake, &at.scheduler_notes.bottom, &at.scheduler_notes.size);
}

#elif defined(VD_THREAD_SANITIZER)

inline void fiber_is_new(StackNotes& notes, void*, std::size_t) {
    if (!notes.handle) notes.handle = __tsan_create_fiber(0);
}
inline void leave_scheduler(Core& at, const StackNotes& to) {
    at.scheduler_notes.handle = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to.handle, 0);
}
inline void scheduler_was_entered(Core&) {}
inline void leave_fiber(const Core& at, StackNotes&) { __tsan_switch_to_fiber(at.scheduler_notes.handle, 0); }
inline void fiber_was_entered(Core&, void*) {}

#else

inline void fiber_is_new(StackNotes&, void*, std::size_t) {}
inline void leave_scheduler(Core&, const StackNotes&) {}
inline void scheduler_was_entered(Core&) {}
inline void leave_fiber(const Core&, StackNotes&) {}
inline void fiber_was_entered(Core&, void*) {}

#endif

}  // namespace vd
