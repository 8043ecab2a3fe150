// Who reads and writes the pages of tensors, in launches whose cores do not talk to each other. A part of noc.cpp, which
// alone includes it: every transfer comes by here, and only what is static is inlined.
#pragma once

#include <cstdio>
#include <cstring>

#include "machine.h"

namespace vd {
namespace {

uint8_t own_number() { return static_cast<uint8_t>(core->index + 1); }

struct Named {
    char text[32] = "another core";
};
Named name_of(uint8_t number) {
    Named name;
    if (number == kManyCores) return name;
    const CoreConfig& at = device.launch->cores[number - 1u];
    std::snprintf(name.text, sizeof name.text, "core (%u,%u)", at.x, at.y);
    return name;
}

// Cores of one launch run in no order, so a page that one of them writes belongs to it alone.
void report_race(const Span& far, const char* mine, const char* theirs, uint8_t other) {
    complain("dram-race", "page %llu of tensor '%s' is %s here and %s by %s in the same launch: nothing orders the two",
           static_cast<unsigned long long>(far.page), far.tensor->name, mine, theirs, name_of(other).text);
}

// Of a tensor that is used by elements each byte belongs to the core that writes it.
void note_flat_write(const Span& far, uint32_t bytes) {
    Tensor& tensor = *far.tensor;
    const uint8_t own = own_number();
    const std::size_t begin = static_cast<std::size_t>(place_in_tensor(far));
    for (std::size_t at = begin; at < begin + bytes; ++at) {
        const uint8_t before = __atomic_exchange_n(&tensor.byte_writers[at], own, __ATOMIC_RELAXED);
        if (before == 0 || before == own) continue;
        complain("dram-race", "byte %llu of page %llu of tensor '%s' is written here and by %s in the same launch: nothing "
               "orders the two", static_cast<unsigned long long>(at % tensor.page_bytes),
               static_cast<unsigned long long>(far.page), tensor.name, name_of(before).text);
    }
    __atomic_store_n(&tensor.writers[far.page], own, __ATOMIC_SEQ_CST);
    const uint8_t reader = __atomic_load_n(&tensor.readers[far.page], __ATOMIC_SEQ_CST);
    if (reader != 0 && reader != own) report_race(far, "written", "read", reader);
}

// Large tensors, many launches: of the bytes only those of written pages are cleared.
void forget_byte_writers(Tensor& tensor) {
    if (!tensor.flat) return;
    tensor.byte_writers.resize(static_cast<std::size_t>(tensor.pages) * tensor.page_bytes);
    for (std::size_t page = 0; page < tensor.writers.size(); ++page) {
        if (tensor.writers[page] == 0) continue;
        std::memset(tensor.byte_writers.data() + page * tensor.page_bytes, 0, tensor.page_bytes);
    }
}

void note_read(const Span& far) {
    const uint8_t own = own_number();
    uint8_t& readers = far.tensor->readers[far.page];
    const uint8_t before = __atomic_load_n(&readers, __ATOMIC_SEQ_CST);
    if (before != own && before != kManyCores) {
        __atomic_store_n(&readers, before == 0 ? own : kManyCores, __ATOMIC_SEQ_CST);
    }
    const uint8_t writer = __atomic_load_n(&far.tensor->writers[far.page], __ATOMIC_SEQ_CST);
    if (writer != 0 && writer != own) report_race(far, "read", "written", writer);
}

// Parts of a page may be written by several cores; whole pages may not.
void note_write(const Span& far, uint32_t bytes) {
    far.tensor->marks[far.page] = 1;
    if (far.tensor->flat) return note_flat_write(far, bytes);
    const uint8_t own = own_number();
    const bool whole = bytes == far.tensor->page_bytes;
    const uint8_t before = __atomic_exchange_n(&far.tensor->writers[far.page], own, __ATOMIC_SEQ_CST);
    if (whole && before != 0 && before != own) report_race(far, "written", "written", before);
    const uint8_t reader = __atomic_load_n(&far.tensor->readers[far.page], __ATOMIC_SEQ_CST);
    if (reader != 0 && reader != own) report_race(far, "written", "read", reader);
}

}  // namespace
}  // namespace vd
