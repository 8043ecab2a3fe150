// What happened in a timed run: one event per call of a kernel, on the lane (processor) that carries it out. Events say
// what was done, never how long it takes: that is the replay's business (replay.cpp), with the costs of a table.
#pragma once

#include <cstdint>

namespace vd::timing {

// The five processors of a core. A compute kernel runs on the last three at once.
enum class Processor : uint8_t { Reader, Writer, Unpack, Math, Pack };
constexpr uint32_t kProcessors = 5;

enum class Kind : uint8_t {
    Work,       // `count` calls of `items` units each of what `key` names
    Unpack,     // the same, each unit filling a bank of the source registers
    Math,       // the same, each unit emptying one
    Reserve,    // `count` pages of circular buffer `id`
    Push,
    Wait,
    Pop,
    Acquire,    // DST: math asks for a part, and hands it to the packer
    Commit,
    PackWait,   // the packer asks for it, and gives it back
    Release,
    Read,       // NoC: `count` bytes from `place`
    Write,      // to `place`
    Multicast,  // to the rectangle `place`
    ReadBarrier,
    WriteBarrier,
    Flush,
    AtomicBarrier,
    WaitEqual,  // the word of L1 at `offset` is `value`
    WaitLeast,  // it is at least `value`
    Set,        // it becomes `value`, by this core
    Poll,       // the word at `offset` of `place` is read until it has changed `value` times
    ZoneBegin,  // of the profiler; its name is `key`
    ZoneEnd,
    End,        // of the kernel
};

enum Flag : uint8_t {
    kLinked = 1,    // multicast: the path stays reserved for the next one
    kLoopback = 2,  // multicast: the sender receives it too
    kPosted = 4,    // nobody acknowledges it
    kAtomic = 8,    // `value` is added to the word at `offset` of the other core
    kWord = 16,     // that word becomes `value`
    kPage = 32,     // the address was computed from the number of a page
};

constexpr uint8_t kAllIds = 255;  // a barrier for every transaction id

struct Event {
    Kind kind;
    uint8_t id = 0;     // circular buffer; NoC
    uint8_t trid = 0;   // transaction id
    uint8_t flags = 0;
    uint16_t key = 0;   // which cost: a number of Replay::key
    uint16_t items = 1;
    uint32_t count = 1;  // calls, pages or bytes
    uint32_t line = 0;
    uint32_t value = 0, offset = 0;  // of a word; `value` of unpacking: operands loaded once per call; of blocks: 1 + their buffer
    uint64_t place = 0;
};
static_assert(sizeof(Event) == 32, "records are files of these");

// Places of the NoC: a DRAM bank, a compute core by its logical coordinates, a rectangle of such.
constexpr uint64_t kDram = 1ull << 63;
constexpr uint64_t dram_place(uint32_t bank) { return kDram | bank; }
constexpr uint64_t core_place(uint32_t x, uint32_t y) { return x | y << 8; }
constexpr uint64_t rectangle_place(uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1) {
    return core_place(x0, y0) | core_place(x1, y1) << 16;
}

}  // namespace vd::timing
