// What the clock's library offers to the runner, which loads it when a run asks for a clock.
#pragma once

#include "event.h"

namespace vd::timing {

constexpr uint32_t kAllEnded = 0xffffffff, kFailed = 0xfffffffe;

struct Library {
    // One launch, described by words (replay.cpp); lives until `finish`. nullptr: see `error`.
    void* (*begin)(const char* setup);
    // The number of a cost's name. May be called by several threads.
    uint16_t (*key)(void* replay, const char* name);
    // Lane: core * kProcessors + processor. Lanes may be filled by different threads.
    void (*append)(void* replay, uint32_t lane, const Event& event);
    // Goes on until a lane has no event left and has not ended: which one; or kAllEnded, or kFailed.
    uint32_t (*advance)(void* replay);
    // The report, as JSON; valid until the next call.
    const char* (*finish)(void* replay);
    // Writes all events to a file, or adds them to it; before the first `advance`.
    bool (*save)(void* replay, const char* path, bool first);
    const char* (*error)();
};

}  // namespace vd::timing
