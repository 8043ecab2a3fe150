// What will happen when: a heap of moments, the earliest first. Each node has four children, so that a heap of some
// hundred moments is half as deep as one of pairs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "costs.h"

namespace vd::timing {

enum class Step : uint8_t { Lane, RequestArrives, DataDeparts, WriteDeparts, WriteArrives, WordArrives, Multicast, RequestDeparts, Packet, Wire };

struct Moment {
    Time time;
    uint64_t order;  // lane, number of its transfer, step
    Step step;
    uint32_t index;  // of a lane or a flight
    uint32_t target;  // core, of a word

    // Both at once, without a branch that the host would guess wrong.
    bool before(const Moment& other) const {
        const auto whole = [](const Moment& one) { return static_cast<__int128>(one.time) << 64 | one.order; };
        return whole(*this) < whole(other);
    }
};

class Moments {
public:
    bool empty() const { return heap_.empty(); }

    void push(const Moment& moment) {
        heap_.push_back(moment);
        rise(heap_.size() - 1, moment);
    }

    // The place of the first is filled from below down to a leaf, and the last rises from there: it seldom goes far.
    Moment take_first() {
        const Moment first = heap_.front(), last = heap_.back();
        heap_.pop_back();
        const std::size_t size = heap_.size();
        if (size == 0) return first;
        std::size_t at = 0;
        for (std::size_t begin = 1; begin < size; begin = at * kChildren + 1) {
            const std::size_t end = std::min(begin + kChildren, size);
            std::size_t least = begin;
            for (std::size_t child = begin + 1; child < end; ++child) {
                least = heap_[child].before(heap_[least]) ? child : least;
            }
            heap_[at] = heap_[least];
            at = least;
        }
        rise(at, last);
        return first;
    }

private:
    static constexpr std::size_t kChildren = 4;

    void rise(std::size_t at, const Moment& moment) {
        while (at != 0) {
            const std::size_t parent = (at - 1) / kChildren;
            if (!moment.before(heap_[parent])) break;
            heap_[at] = heap_[parent];
            at = parent;
        }
        heap_[at] = moment;
    }

    std::vector<Moment> heap_;
};

}  // namespace vd::timing
