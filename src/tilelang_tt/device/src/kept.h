// Unpack, math and pack each go through compute's text by themselves; here one fiber goes through it for all three.
//
//     tile_regs_wait();           pack waits here ...
//     pack_tile(0, out);          kept for pack
//     tile_regs_commit();         ... for math, which goes on: now what was kept is carried out
//
// Calls of compute return nothing. So one whose processor has to wait for another one of the three is kept, with all later
// ones of that processor, while the others go on through the text. What a processor waits for is a `Need`.
#pragma once

#include "machine.h"

namespace vd {

// A bit for each; an operation on tiles of a circular buffer keeps unpack and math busy together.
enum Processors : uint8_t { kUnpack = 1, kMath = 2, kPack = 4, kSource = kUnpack | kMath, kAll = kSource | kPack };

bool keeps(uint8_t processors);  // one of them has to wait: what it is called for must be kept
void keep(uint8_t processors, uint32_t line, const Later& call, Need need = Need::Nothing, uint32_t cb = 0,
          uint32_t pages = 0);

// A table that a kept call was given, which the kernel may have left by then.
const uint32_t* kept_words(const uint32_t* words, uint32_t count);

// First in a call of compute that can be done later. Data movement kernels never keep anything.
#define KEEP_OR_BEGIN(processors, ...)                                                                       \
    if (fiber->waiting != 0 && keeps(processors)) return keep(processors, line, __VA_ARGS__);                 \
    begin(line)

// Before what cannot be kept, because the text goes on with its result: waits until these processors have come so far.
void catch_up(uint8_t processors, const char* what);

// While this kernel waits for another one, compute's other processors go on.
void carry_out_what_can_be();

// Pages, or room for them. False: only compute itself can make them, further down the text; the call must be kept.
bool await_pages(Need need, uint32_t cb, uint32_t pages, bool made_by_compute);

}  // namespace vd
