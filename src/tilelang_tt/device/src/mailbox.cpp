// Mailboxes: words from one processor of a core to another, in order. The four queues that a processor writes to hold four
// words together; who finds them full waits, and so does who reads an empty one.
#include <cstdio>

#include "kept.h"
#include "order.h"

namespace vd {
namespace {

constexpr std::size_t kWords = 4;  // under way from one processor, to all others together
constexpr uint32_t kRiscv0 = 0;
constexpr const char* kNames[kMailProcessors] = {"RISCV_0", "unpack", "math", "pack"};

uint8_t bit_of(uint32_t processor) { return static_cast<uint8_t>(1u << (processor - 1)); }

// The processor that calls. Data movement kernels have one each; in compute the text says it, in UNPACK(), MATH() or PACK().
uint32_t caller(uint32_t whose, const char* call) {
    if (fiber->role == Role::Writer) return kRiscv0;
    if (fiber->role == Role::Reader) {
        breach("mailbox", "%s on RISCV_1, which has no mailboxes: RISCV_0 and the compute processors have them", call);
    }
    if (whose == 0) {
        char what[64];
        std::snprintf(what, sizeof what, "%s that does not stand in UNPACK(), MATH() or PACK()", call);
        vd_unimplemented(what, fiber->line);
    }
    return whose;
}

void require_processor(uint32_t processor, const char* call) {
    if (processor >= kMailProcessors) breach("mailbox", "%s names processor %u: there are 0 to 3", call, processor);
}

// Of compute's text: what this processor has been told to do before must be done.
void come_so_far(uint32_t own, const char* call) {
    if (own != kRiscv0) catch_up(bit_of(own), call);
}

void send(uint32_t from, uint32_t to, uint32_t word) {
    order_mail_written(from, to);
    core->mail[from][to].push_back({word, fiber->line});
}

}  // namespace

bool mailboxes_have_room(const Core& at, uint32_t from) {
    std::size_t words = 0;
    for (const std::vector<Mail>& box : at.mail[from]) words += box.size();
    return words < kWords;
}

bool has_mail(const Core& at, uint32_t from, uint32_t to) { return !at.mail[from][to].empty(); }

void describe_mail_wait(const Fiber& which, char* out, std::size_t size) {
    if (which.wait == Wait::Mail) {
        std::snprintf(out, size, "waits in mailbox_read: %s has written nothing to %s that it has not read",
                      kNames[which.wait_from], kNames[which.wait_to]);
    } else {
        std::snprintf(out, size, "waits in mailbox_write: the mailboxes of %s hold %zu words that nobody has read",
                      kNames[which.wait_from], kWords);
    }
}

void check_mail_at_end() {
    for (uint32_t from = 0; from < kMailProcessors; ++from) {
        for (uint32_t to = 0; to < kMailProcessors; ++to) {
            if (core->mail[from][to].empty()) continue;
            fiber = &core->fibers[static_cast<uint32_t>(to == kRiscv0 ? Role::Writer : Role::Compute)];
            complain("mailbox", "at the end %s has not read %zu words of %s, the first from line %u: the next program will",
                     kNames[to], core->mail[from][to].size(), kNames[from], core->mail[from][to].front().line);
            core->mail[from][to].clear();
        }
    }
}

}  // namespace vd

using namespace vd;

extern "C" {

void vd_mailbox_write(uint32_t whose, uint32_t to, uint32_t word, uint32_t line) {
    begin(line);
    const uint32_t from = caller(whose, "mailbox_write");
    require_processor(to, "mailbox_write");
    if (from == kRiscv0) {
        while (!mailboxes_have_room(*core, from)) {
            fiber->wait = Wait::Mailbox;
            fiber->wait_from = from;
            yield_to_scheduler();
        }
        fiber->wait = Wait::None;
        send(from, to, word);
        return maybe_give_way();
    }
    const auto write = [=] { send(from, to, word); };
    if (fiber->waiting != 0 && keeps(bit_of(from))) return keep(bit_of(from), line, write, Need::Mailbox, from);
    if (!mailboxes_have_room(*core, from)) return keep(bit_of(from), line, write, Need::Mailbox, from);
    write();
}

uint32_t vd_mailbox_read(uint32_t whose, uint32_t from, uint32_t line) {
    begin(line);
    const uint32_t own = caller(whose, "mailbox_read");
    require_processor(from, "mailbox_read");
    come_so_far(own, "mailbox_read");
    const bool of_compute = own != kRiscv0 && from != kRiscv0;
    if (of_compute && !has_mail(*core, from, own)) {
        catch_up(bit_of(from), "mailbox_read");
        if (!has_mail(*core, from, own)) vd_unimplemented("a mailbox_read of a word that the text writes further down", line);
    }
    while (!has_mail(*core, from, own)) {
        fiber->wait = Wait::Mail;
        fiber->wait_from = from;
        fiber->wait_to = own;
        yield_to_scheduler();
        carry_out_what_can_be();
    }
    fiber->wait = Wait::None;
    std::vector<Mail>& box = core->mail[from][own];
    const uint32_t word = box.front().word;
    box.erase(box.begin());
    order_mail_read(from, own);
    fiber->line = line;
    return word;
}

bool vd_mailbox_has(uint32_t whose, uint32_t from, uint32_t line) {
    begin(line);
    const uint32_t own = caller(whose, "mailbox_not_empty");
    require_processor(from, "mailbox_not_empty");
    come_so_far(own, "mailbox_not_empty");
    poll();
    return has_mail(*core, from, own);
}

}  // extern "C"
