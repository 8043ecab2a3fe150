// NoC addresses, and transfers between this core's L1 and one other place. Transfers are only noted when they are
// issued; their bytes move at the barrier or when the scheduler says, so that a kernel which does not wait meets
// what it would meet on the chip.
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "circular_buffer.h"
#include "machine.h"
#include "order.h"
#include "page_users.h"
#include "vd/noc_abi.h"

namespace vd {
namespace {

uint64_t dram_address(uint32_t bank, uint64_t local) {
    return (static_cast<uint64_t>(kDramRow) << (kNocLocalBits + kNocNodeBits)) |
           (static_cast<uint64_t>(bank) << kNocLocalBits) | local;
}

// A base address names a tensor in DRAM as it is; one in L1 also as a pointer into the core's own L1.
const Tensor* tensor_with_base(uint32_t base) {
    for (const Tensor& tensor : device.tensors) {
        if (tensor.dram && tensor.address == base) return &tensor;
    }
    for (const Tensor& tensor : device.tensors) {
        if (!tensor.dram && tensor.address == l1_offset(base)) return &tensor;
    }
    return nullptr;
}

uint64_t core_address(uint32_t x, uint32_t y, uint64_t local) {
    return (static_cast<uint64_t>(y) << (kNocLocalBits + kNocNodeBits)) | (static_cast<uint64_t>(x) << kNocLocalBits) |
           local;
}

constexpr uint32_t kSomeTensor = (1u << kNocNodeBits) - 1;  // one whose number does not fit

// Kernels compute the address of the page behind the last and never use it. It names no place, and says whose it was.
uint64_t outside_address(const Tensor& tensor, uint32_t page, uint32_t offset) {
    const uint32_t number = static_cast<uint32_t>(&tensor - device.tensors.data());
    const uint64_t local = static_cast<uint64_t>(page) * tensor.page_bytes + offset;
    if (number >= kSomeTensor || local >> kNocLocalBits) return core_address(kSomeTensor, kOutsideRow, 0);
    return core_address(number, kOutsideRow, local);
}

[[noreturn]] void refuse_outside(uint32_t number, uint64_t local) {
    if (number == kSomeTensor) breach("noc-bounds", "a page number past the end of the tensor");
    const Tensor& tensor = device.tensors[number];
    breach("noc-bounds", "page %llu, byte %llu of tensor '%s', which has %u pages of %u bytes",
           static_cast<unsigned long long>(local / tensor.page_bytes),
           static_cast<unsigned long long>(local % tensor.page_bytes), tensor.name, tensor.pages, tensor.page_bytes);
}

Span tensor_span(bool dram, uint32_t bank, uint64_t local, uint32_t bytes) {
    uint32_t page = 0;
    Tensor* tensor = tensor_at(dram, bank, local, page);
    if (!tensor) return {};
    const uint64_t within = (local - tensor->address) % tensor->page_bytes;
    // The pages of a shard lie one after the other; an interleaved page ends at its end.
    uint64_t room = tensor->page_bytes - within;
    for (uint64_t slot = tensor->slot_of(page) + 1ull; tensor->sharded && room < bytes; ++slot) {
        if (tensor->page_of(bank, slot) == kNoPage) break;
        room += tensor->page_bytes;
    }
    if (room < bytes) {
        breach("noc-bounds", "%u bytes at byte %llu of a page of tensor '%s': its pages have %u bytes", bytes,
               static_cast<unsigned long long>(within), tensor->name, tensor->page_bytes);
    }
    return {tensor->page_bytes_at(page) + within, static_cast<uint32_t>(local), dram, tensor, page, nullptr};
}

Span dram_span(uint32_t bank, uint64_t local, uint32_t bytes) {
    if (bank >= device.chip.dram_banks) {
        breach("noc-bounds", "DRAM bank %u: this chip has %u", bank, device.chip.dram_banks);
    }
    const Span span = tensor_span(true, bank, local, bytes);
    if (!span.tensor) {
        breach("noc-bounds", "no tensor lies at address 0x%llx of DRAM bank %u", static_cast<unsigned long long>(local),
               bank);
    }
    return span;
}

// Semaphores may order cores, so in a connected launch only what is still under way is a race.
void require_arrived(const Span& far, uint32_t bytes) {
    uint32_t line = 0;
    Core* who = nullptr;
    if (!write_under_way(far.bytes, bytes, line, who)) return;
    complain("dram-race", "page %llu of tensor '%s' is read while the write of core (%u,%u), line %u, is under way",
           static_cast<unsigned long long>(far.page), far.tensor->name, who->x, who->y, line);
}

// A part of a page that is used by elements may hold some that other cores write, if this kernel does not look at them,
// which is not seen.
void note_tensor_read(const Span& far, uint32_t bytes) {
    if (far.tensor->flat && (bytes < far.tensor->page_bytes || device.launch->connected())) return;
    if (!device.launch->connected()) return note_read(far);
    require_arrived(far, bytes);
    order_tensor_read(far, bytes);
}

void require_writable(uint32_t offset, uint32_t bytes) {
    CbSpan span;
    const bool found = find_cb(offset, bytes, span);
    if (found && (is_reserved(span) || is_scratch(span))) return;
    if (!found && tensor_span(false, core->y * device.chip.grid_x + core->x, offset, bytes).tensor) return;
    uint32_t wrapped = 0;
    if (is_past_wrap(offset, wrapped)) {
        breach("cb-wrap", "the write lies past the end of CB %u '%s': the reserved pages do not land on the wrap",
               wrapped, core->group->cbs[wrapped].name);
    }
    if (!found) {
        breach("noc-bounds", "%u bytes at L1 address 0x%x lie in no circular buffer and no tensor", bytes, offset);
    }
    complain("cb-unreserved-write", "pages %u..%u of CB %u '%s' are written, but this kernel has not reserved them",
           span.first_page, span.last_page, span.cb, core->group->cbs[span.cb].name);
}

void require_not_leaving(uint32_t offset, uint32_t bytes) {
    uint32_t other = 0;
    // What has arrived has left: a receiver may have said so, and no flush is needed then.
    if (device.launch->connected() && !is_flying_from(*fiber, core->l1 + offset, bytes)) return;
    if (overlaps_pending(fiber->writes, offset, bytes, other)) {
        complain("noc-write-flush", "the source of the write of line %u is overwritten before it has left", other);
        leave_in_time(offset, bytes);
    }
}

// Bytes that fill a transfer up to an alignment may be anything; one that is mostly unwritten is a mistake.
void require_written(const uint8_t* from, uint32_t bytes, const char* name) {
    if (device.numberless) return;
    uint8_t poison[kMarkBytes];
    std::memset(poison, kPoison, sizeof poison);
    uint32_t unwritten = 0, at = 0;
    for (; at + kMarkBytes <= bytes; at += kMarkBytes) {
        if (std::memcmp(from + at, poison, kMarkBytes) == 0) unwritten += kMarkBytes;
    }
    if (std::memcmp(from + at, poison, bytes - at) == 0) unwritten += bytes - at;
    if (2 * unwritten <= bytes) return;
    complain("l1-uninitialised", "%u of these %u bytes of '%s' were never written", unwritten, bytes, name);
}

// An ordinary transfer uses the registers in which the stateful forms keep theirs.
void forget_state(uint32_t noc, std::initializer_list<uint32_t> commands) {
    for (const uint32_t command : commands) fiber->states[noc][command].set = false;
}

bool is_watched() { return core->group->kernels[static_cast<uint32_t>(fiber->role)].watched; }

bool in_zeros(uint32_t offset, uint32_t bytes) {
    const uint32_t zeros = device.chip.zeros_base;
    return offset >= zeros && offset + bytes <= zeros + kZerosBytes;
}

// Zeros that are put into a buffer before its first use: pages that are filled in part later keep them.
bool prefills(uint32_t offset, uint32_t bytes) {
    CbSpan span;
    if (!find_cb(offset, bytes, span) || !is_before_use(span)) return false;
    core->cbs[span.cb].prefilled = true;
    return true;
}

}  // namespace

// The far end of a transfer: a tensor, or the L1 of a core.
Span far_end(uint64_t address, uint32_t bytes) {
    const uint64_t local = address & ((1ull << kNocLocalBits) - 1);
    const uint32_t x = (address >> kNocLocalBits) & ((1u << kNocNodeBits) - 1);
    const uint32_t y = (address >> (kNocLocalBits + kNocNodeBits)) & ((1u << kNocNodeBits) - 1);
    if (address >> (kNocLocalBits + 2 * kNocNodeBits)) {
        breach("noc-bounds", "a multicast address in a transfer to one place");
    }
    if (y == kDramRow) return dram_span(x, local, bytes);
    if (y == kOutsideRow) refuse_outside(x, local);
    const uint32_t offset = l1_offset(static_cast<uint32_t>(local));
    Place place{};
    if (is_worker(x, y, place)) {
        const Span span = tensor_span(false, place.y * device.chip.grid_x + place.x, offset, bytes);
        if (span.tensor) return span;
    }
    Core* at = core_at_noc(x, y);
    if (!at) breach("noc-bounds", "no core of this launch has the NoC coordinates (%u,%u)", x, y);
    if (offset + static_cast<uint64_t>(bytes) > device.l1_window) {
        breach("noc-bounds", "%u bytes at L1 address 0x%x leave the L1", bytes, offset);
    }
    return {at->l1 + offset, offset, false, nullptr, 0, at};
}

void require_aligned(const Span& far, uint32_t l1, bool read) {
    const uint32_t align = far.dram && read ? device.chip.dram_read_align : device.chip.noc_align;
    if ((far.address ^ l1) & (align - 1)) {
        breach("noc-alignment", "%s address 0x%x and L1 address 0x%x differ modulo %u bytes", far.dram ? "DRAM" : "L1",
               far.address, l1, align);
    }
}

void require_length(uint32_t bytes, bool one_packet) {
    if (bytes == 0) breach("noc-bounds", "a transfer of 0 bytes");
    if (one_packet && bytes > max_packet()) {
        breach("noc-bounds", "%u bytes in one packet: packets of this chip hold %u", bytes, max_packet());
    }
}

void require_unlinked(uint32_t noc) {
    if (fiber->linked_line[noc] != 0) {
        complain("noc-linked",
               "a transfer to one place on NoC %u between the linked multicast of line %u and its successor", noc,
               fiber->linked_line[noc]);
    }
}

void require_landed(uint32_t offset, uint32_t bytes) {
    uint32_t other = 0;
    if (overlaps_pending(fiber->reads, offset, bytes, other)) {
        complain("noc-read-barrier", "the data of the read of line %u is sent on before it has landed", other);
    }
}

// An L1 range a kernel may send: the zero region, a semaphore, or a CB page it holds. Of elements
// it is enough that something came to where they lie, which is not known of a kernel that is not watched.
void require_readable(uint32_t offset, uint32_t bytes, bool elements) {
    if (in_zeros(offset, bytes) || is_semaphore(*core, offset, bytes)) return;
    CbSpan span;
    if (!find_cb(offset, bytes, span)) {
        const Span tensor = tensor_span(false, core->y * device.chip.grid_x + core->x, offset, bytes);
        if (tensor.tensor) return require_written(tensor.bytes, bytes, tensor.tensor->name);
        breach("noc-bounds", "%u bytes at L1 address 0x%x lie in no circular buffer and no tensor", bytes, offset);
    }
    const char* const name = core->group->cbs[span.cb].name;
    const bool came = elements && bytes < kMarkBytes && (has_element(span, offset) || !is_watched());
    if (is_scratch(span)) {
        if (!came) require_written(core->l1 + offset, bytes, name);
        return;
    }
    if (is_own_push(span)) return require_published(span, offset, bytes);  // handed on to another core, say
    if (!is_waited(span) && !is_reserved(span)) {
        complain("cb-unwaited-read", "pages %u..%u of CB %u '%s' are read, but this kernel has not waited for them",
               span.first_page, span.last_page, span.cb, name);
    }
    if (is_waited(span)) return require_published(span, offset, bytes);
    if (came) return;
    require_written(core->l1 + offset, bytes, name);
    if (is_reserved(span) && is_fresh(span.cb, span.first_page)) {
        complain("cb-unwaited-read", "page %u of CB %u '%s' is read, but what it held is given up: it was reserved again, and "
                 "nothing has been written to it since", span.first_page, span.cb, name);
    }
}

// L1 of a core that something of this launch occupies.
void require_known_l1(const Core& at, uint32_t offset, uint32_t bytes) {
    if (is_semaphore(at, offset, bytes)) return;
    for (const uint32_t id : at.group->cb_ids) {
        const CbConfig& cb = at.group->cbs[id];
        if (offset >= cb.offset &&
            offset + static_cast<uint64_t>(bytes) <= cb.offset + static_cast<uint64_t>(cb.pages) * cb.page_bytes) {
            return;
        }
    }
    breach("noc-bounds", "%u bytes at L1 address 0x%x of core (%u,%u) lie in no circular buffer and no semaphore",
           bytes, offset, at.x, at.y);
}

void forget_page_users() {
    for (Tensor& tensor : device.tensors) {
        forget_byte_writers(tensor);
        tensor.readers.assign(tensor.pages, 0);
        tensor.writers.assign(tensor.pages, 0);
    }
}

bool overlaps_pending(const std::vector<Transfer>& transfers, uint32_t offset, uint32_t bytes, uint32_t& line) {
    for (const Transfer& transfer : transfers) {
        if (transfer.l1_offset < offset + bytes && offset < transfer.l1_offset + transfer.bytes) {
            line = transfer.line;
            return true;
        }
    }
    return false;
}

// What a kernel leaves behind arrives all the same, if the user has allowed that.
static void finish_transfers(uint32_t noc, uint32_t line) {
    if (!fiber->reads.empty()) vd_noc_read_barrier(noc, kAnyTrid, line);
    if (!fiber->writes.empty()) {
        vd_noc_write_barrier(noc, kAnyTrid, line);
        vd_noc_writes_flushed(noc, kAnyTrid, true, line);
    }
}

void check_noc_at_end() {
    const uint32_t ended = fiber->line;
    if (!fiber->reads.empty()) {
        fiber->line = fiber->reads[0].line;
        complain("noc-read-barrier", "the kernel ends while this read is under way");
    }
    if (!fiber->writes.empty()) {
        fiber->line = fiber->writes[0].line;
        complain("noc-write-flush", "the kernel ends while this write is under way");
    }
    for (uint32_t noc = 0; noc < kNocs; ++noc) {
        for (const uint32_t line : fiber->unacknowledged[noc]) {
            if (line == 0) continue;
            fiber->line = line;
            complain("noc-write-barrier",
                     "the kernel ends before this write is acknowledged: noc_async_write_barrier must come last");
        }
        if (fiber->linked_line[noc] == 0) continue;
        fiber->line = fiber->linked_line[noc];
        complain("noc-linked", "the kernel ends after this linked multicast: an unlinked one must release the path");
    }
    uint32_t line = 0;
    if (atomics_under_way(*fiber, line)) {
        fiber->line = line;
        complain("noc-atomic-barrier",
                 "the kernel ends while this atomic is under way: noc_async_atomic_barrier must come last");
    }
    for (uint32_t noc = 0; noc < kNocs; ++noc) finish_transfers(noc, ended);
}

}  // namespace vd

using namespace vd;

extern "C" {

uint64_t vd_noc_addr_local(uint32_t l1_addr) {
    const Place here = noc_place(core->x, core->y);
    return core_address(here.x, here.y, l1_offset(l1_addr));
}

uint64_t vd_noc_addr_of_page(uint32_t base, uint32_t page_bytes, uint32_t page, uint32_t offset, uint32_t line) {
    enter(line);
    fiber->page_address = true;
    if (const Tensor* found = tensor_with_base(base)) {
        const Tensor& tensor = *found;
        if (page_bytes != tensor.page_bytes) {
            breach("noc-bounds", "an accessor with pages of %u bytes for tensor '%s', whose pages have %u", page_bytes,
                   tensor.name, tensor.page_bytes);
        }
        if (page >= tensor.pages) return outside_address(tensor, page, offset);
        if (offset >= page_bytes) {
            breach("noc-bounds", "page %u, byte %u of tensor '%s', which has %u pages of %u bytes", page, offset,
                   tensor.name, tensor.pages, tensor.page_bytes);
        }
        const uint32_t bank = tensor.bank_of(page);
        const uint64_t local = tensor.address + static_cast<uint64_t>(tensor.slot_of(page)) * page_bytes + offset;
        if (tensor.dram) return dram_address(bank, local);
        const Place place = noc_place(bank % device.chip.grid_x, bank / device.chip.grid_x);
        return core_address(place.x, place.y, local);
    }
    breach("noc-bounds", "an accessor with base address 0x%x, where no tensor begins", base);
}

uint64_t vd_noc_addr_of_bank(bool dram, uint32_t bank, uint32_t address, uint32_t line) {
    enter(line);
    const uint32_t banks = dram ? device.chip.dram_banks : device.chip.cores();
    if (bank >= banks) breach("noc-bounds", "%s bank %u: this chip has %u", dram ? "DRAM" : "L1", bank, banks);
    if (dram) return dram_address(bank, address);
    const Place place = noc_place(bank % device.chip.grid_x, bank / device.chip.grid_x);
    return core_address(place.x, place.y, l1_offset(address));
}

uint64_t vd_page_outside(uint32_t base, uint32_t page, uint32_t line) {
    enter(line);
    if (const Tensor* tensor = tensor_with_base(base)) return outside_address(*tensor, page, 0);
    breach("noc-bounds", "an accessor with base address 0x%x, where no tensor begins", base);
}

void vd_noc_read(uint64_t source, uint32_t l1_addr, uint32_t bytes, VdHow how, uint32_t line) {
    enter(line);
    require_length(bytes, how.one_packet != 0);
    require_unlinked(how.noc);
    if (!how.stateful) forget_state(how.noc, {VD_STATE_READ, VD_STATE_READ_PACKET});
    const Span far = far_end(source, bytes);
    const bool word = far.at && !far.tensor && is_semaphore(*far.at, far.address, bytes);
    note::transfer(word ? note::Kind::Poll : note::Kind::Read, l1_addr, source, bytes, how);
    const uint32_t target = l1_offset(l1_addr);
    require_aligned(far, target, true);
    if (far.tensor) {
        note_tensor_read(far, bytes);
    } else if (far.at == core) {
        require_readable(far.address, bytes);
    } else if (!in_zeros(far.address, bytes)) {
        require_known_l1(*far.at, far.address, bytes);
        order_remote_read(*far.at);
    }
    order_l1_use(target, bytes, "written");
    const bool zeros = far.at == core && in_zeros(far.address, bytes);
    if (!zeros || !prefills(target, bytes)) require_writable(target, bytes);
    require_not_leaving(target, bytes);
    if (word) {
        fiber->looks_at = far.at;
        fiber->looks_offset = far.address;
    }
    const bool elements = word || (far.tensor && far.tensor->flat);
    fiber->reads.push_back({core->l1 + target, far.bytes, target, bytes, line, how.noc, how.trid, false, elements});
    core->statistics.noc_read_bytes += bytes;
    maybe_give_way();
}

void vd_noc_write(uint32_t l1_addr, uint64_t target, uint32_t bytes, VdHow how, uint32_t line) {
    enter(line);
    note::write(l1_addr, target, bytes, how);
    require_length(bytes, how.one_packet != 0);
    require_unlinked(how.noc);
    if (!how.stateful) forget_state(how.noc, {VD_STATE_WRITE, VD_STATE_WRITE_PACKET, VD_STATE_WRITE_TRID});
    const Span far = far_end(target, bytes);
    const uint32_t source = l1_offset(l1_addr);
    require_aligned(far, source, false);
    require_landed(source, bytes);
    require_readable(source, bytes, far.tensor && far.tensor->flat);
    order_l1_use(source, bytes, "sent");
    core->statistics.noc_write_bytes += bytes;
    if (device.launch->connected()) {
        if (far.tensor) {
            far.tensor->marks[far.page] = 1;
            order_tensor_write(far, bytes, how);
        } else {
            require_known_l1(*far.at, far.address, bytes);
        }
        Flight flight{};
        flight.core = core, flight.fiber = fiber, flight.to = far.at;
        flight.target = far.bytes, flight.source = core->l1 + source;
        flight.offset = far.address, flight.bytes = bytes, flight.line = line;
        flight.kind = Arrival::Write;
        flight.noc = how.noc, flight.trid = how.trid, flight.buffer = how.buffer, flight.posted = how.posted != 0;
        launch_flight(std::move(flight));
    } else if (far.tensor) {
        note_write(far, bytes);
    } else {
        require_writable(far.address, bytes);
    }
    fiber->writes.push_back({far.bytes, core->l1 + source, source, bytes, line, how.noc, how.trid, how.posted != 0});
    maybe_give_way();
}

}  // extern "C"
