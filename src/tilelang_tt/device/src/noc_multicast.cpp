// One sender, a rectangle of cores; and the short messages: words and atomic additions.
#include "machine.h"
#include "order.h"
#include "vd/noc_abi.h"

namespace vd {
namespace {

struct Rectangle {
    uint32_t x0, y0, x1, y1, local;
};

uint32_t node(uint64_t address, uint32_t slot) {
    return (address >> (kNocLocalBits + slot * kNocNodeBits)) & ((1u << kNocNodeBits) - 1);
}

// NoC 0 walks right and down from the first corner to the second, NoC 1 left and up: the host swaps the corners.
Rectangle rectangle_of(uint64_t address, uint32_t noc) {
    const uint32_t x_start = node(address, 2), y_start = node(address, 3);
    const uint32_t x_end = node(address, 0), y_end = node(address, 1);
    const bool walks = noc == 0 ? x_start <= x_end && y_start <= y_end : x_start >= x_end && y_start >= y_end;
    if (!walks) {
        breach("multicast-rectangle", "from (%u,%u) to (%u,%u) on NoC %u: its first corner must be the %s one", x_start,
               y_start, x_end, y_end, noc, noc == 0 ? "upper left" : "lower right");
    }
    const uint32_t local = static_cast<uint32_t>(address & 0xFFFFFFFFu);
    return noc == 0 ? Rectangle{x_start, y_start, x_end, y_end, local}
                    : Rectangle{x_end, y_end, x_start, y_start, local};
}

// A core that takes no part in the launch receives what nobody looks at, unless a tensor lies there.
void require_unused(const Rectangle& area, Place place, uint32_t x, uint32_t y, uint32_t bytes) {
    const Tensor* const tensor = tensor_in_l1(place.y * device.chip.grid_x + place.x, l1_offset(area.local), bytes);
    if (!tensor) return;
    breach("multicast-rectangle",
           "the rectangle (%u,%u)-(%u,%u) holds (%u,%u), which is no core of this launch, and tensor '%s' lies there",
           area.x0, area.y0, area.x1, area.y1, x, y, tensor->name);
}

std::vector<Core*> receivers_of(const Rectangle& area, uint32_t bytes, uint32_t dests, bool loopback) {
    std::vector<Core*> found;
    std::size_t idle = 0;
    bool self = false;
    const auto visit = [&](uint32_t x, uint32_t y, bool corner) {
        Place place{};
        const bool worker = is_worker(x, y, place);
        if (!worker && !corner) return;  // columns between the workers do not listen
        if (!worker) {
            breach("multicast-rectangle", "the rectangle (%u,%u)-(%u,%u) holds (%u,%u), which is no core of this chip",
                   area.x0, area.y0, area.x1, area.y1, x, y);
        }
        Core* const at = core_at_noc(x, y);
        if (!at) {
            ++idle;
            return require_unused(area, place, x, y, bytes);
        }
        self = self || at == core;
        if (at != core || loopback) found.push_back(at);
    };
    for (uint32_t y = area.y0; y <= area.y1; ++y) {
        for (uint32_t x = area.x0; x <= area.x1; ++x) {
            visit(x, y, (x == area.x0 || x == area.x1) && (y == area.y0 || y == area.y1));
        }
    }
    if (loopback && !self) {
        breach("multicast-rectangle",
               "a multicast that includes the sender, but the rectangle (%u,%u)-(%u,%u) does not", area.x0, area.y0,
               area.x1, area.y1);
    }
    if (found.size() + idle != dests) {
        breach("multicast-count", "%u destinations, but the rectangle (%u,%u)-(%u,%u) holds %zu%s", dests, area.x0,
               area.y0, area.x1, area.y1, found.size() + idle,
               self && !loopback ? " besides the sender, who receives nothing" : "");
    }
    return found;
}

Flight flight_to(Core* to, uint32_t offset, uint32_t bytes, const VdHow& how, uint32_t line) {
    Flight flight{};
    flight.core = core, flight.fiber = fiber, flight.to = to;
    flight.target = to->l1 + offset, flight.offset = offset, flight.bytes = bytes, flight.line = line;
    flight.noc = how.noc, flight.trid = how.trid, flight.buffer = how.buffer, flight.posted = how.posted != 0;
    return flight;
}

Flight flight_to(const Span& far, const VdHow& how, uint32_t line) {
    Flight flight{};
    flight.core = core, flight.fiber = fiber, flight.to = far.at;
    flight.target = far.bytes, flight.offset = far.address, flight.bytes = 4, flight.line = line;
    flight.noc = how.noc, flight.trid = how.trid, flight.buffer = how.buffer, flight.posted = how.posted != 0;
    return flight;
}

Span word_at(uint64_t target, const char* what) {
    const Span far = far_end(target, 4);
    if (far.dram) breach("noc-bounds", "%s reaches L1 only, not DRAM", what);
    if (far.address % 4 != 0)
        breach("noc-alignment", "%s at L1 address 0x%x: words lie at multiples of 4", what, far.address);
    if (!far.tensor) require_known_l1(*far.at, far.address, 4);
    return far;
}

}  // namespace
}  // namespace vd

using namespace vd;

extern "C" {

void vd_noc_write_multicast(uint32_t l1_addr, uint64_t target, uint32_t bytes, uint32_t dests, VdHow how,
                            uint32_t line) {
    enter(line);
    require_length(bytes, how.one_packet != 0);
    const Rectangle area = rectangle_of(target, how.noc);
    const std::vector<Core*> receivers = receivers_of(area, bytes, dests, how.loopback != 0);
    const uint32_t source = l1_offset(l1_addr), offset = l1_offset(area.local);
    note::multicast({area.x0, area.y0}, {area.x1, area.y1}, offset, bytes, core->l1 + source, how);
    require_aligned({nullptr, offset, false, nullptr, 0, nullptr}, source, false);
    require_landed(source, bytes);
    require_readable(source, bytes);
    order_l1_use(source, bytes, "sent");
    for (Core* to : receivers) {
        require_known_l1(*to, offset, bytes);
        Flight flight = flight_to(to, offset, bytes, how, line);
        flight.kind = Arrival::Write;
        flight.channel = 1;
        flight.linked = how.linked != 0;
        flight.source = core->l1 + source;
        launch_flight(std::move(flight));
    }
    fiber->writes.push_back({nullptr, core->l1 + source, source, bytes, line, how.noc, how.trid, false});
    fiber->linked_line[how.noc] = how.linked ? line : 0;
    core->statistics.noc_write_bytes += bytes;
    maybe_give_way();
}

void vd_noc_inline_write(uint64_t target, uint32_t value, uint32_t byte_enable, VdHow how, uint32_t line) {
    enter(line);
    note::word(target, value, false, how);
    require_unlinked(how.noc);
    const Span far = word_at(target, "an inline write");
    Flight flight = flight_to(far, how, line);
    flight.kind = Arrival::Word;
    flight.value = value;
    for (uint32_t byte = 0; byte < 4; ++byte) {
        if (byte_enable >> byte & 1) flight.mask |= 0xFFu << (8 * byte);
    }
    launch_flight(std::move(flight));
    if (!how.posted) fiber->unacknowledged[how.noc][how.trid] = line;
    core->statistics.noc_write_bytes += 4;
    maybe_give_way();
}

void vd_noc_add(uint64_t target, uint32_t value, VdHow how, uint32_t line) {
    enter(line);
    note::word(target, value, true, how);
    require_unlinked(how.noc);
    const Span far = word_at(target, "an atomic addition");
    Flight flight = flight_to(far, how, line);
    flight.kind = Arrival::Add;
    flight.value = value;
    launch_flight(std::move(flight));
    maybe_give_way();
}

void vd_noc_add_multicast(uint64_t target, uint32_t value, uint32_t dests, VdHow how, uint32_t line) {
    enter(line);
    const Rectangle area = rectangle_of(target, how.noc);
    note::multicast_add({area.x0, area.y0}, {area.x1, area.y1}, l1_offset(area.local), value, how);
    for (Core* to : receivers_of(area, 4, dests, false)) {
        Flight flight = flight_to(to, l1_offset(area.local), 4, how, line);
        flight.kind = Arrival::Add;
        flight.channel = 1;
        flight.value = value;
        require_known_l1(*to, flight.offset, 4);
        launch_flight(std::move(flight));
    }
    fiber->linked_line[how.noc] = 0;
    maybe_give_way();
}

}  // extern "C"
