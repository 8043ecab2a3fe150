// Where things lie on the chip, and the steps of its two NoCs.
#pragma once

#include <vector>

#include "event.h"

namespace vd::timing {

constexpr uint32_t kNocs = 2;

struct Node {
    uint32_t x = 0, y = 0;  // physical, as NoC 0 counts
};

struct ChipMap {
    uint32_t width = 0, height = 0;
    std::vector<uint32_t> columns, rows;   // physical, of the logical ones of compute cores
    std::vector<Node> banks[kNocs];        // at which node a bank answers on each NoC

    Node core(uint32_t x, uint32_t y) const { return {columns.at(x), rows.at(y)}; }
    Node at(uint64_t place, uint32_t noc) const {
        if (place & kDram) return banks[noc].at(place & 0xffff);
        return core(place & 0xff, place >> 8 & 0xff);
    }
    // To the next node; true over the edge.
    bool step(uint32_t noc, Node& at, bool vertical) const {
        uint32_t& position = vertical ? at.y : at.x;
        const uint32_t last = (vertical ? height : width) - 1;
        const bool edge = position == (noc == 0 ? last : 0);
        position = edge ? (noc == 0 ? 0 : last) : (noc == 0 ? position + 1 : position - 1);
        return edge;
    }
};

}  // namespace vd::timing
