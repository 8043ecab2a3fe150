// Ranges over the pages of a tensor and of a shard.
#pragma once

#include "vd/kernel.h"

namespace tensor_accessor {

class Page {
public:
    Page(uint64_t noc_addr, uint32_t page_id) : noc_addr_(noc_addr), page_id_(page_id) {}
    uint64_t noc_addr() const { return noc_addr_; }
    uint32_t page_id() const { return page_id_; }

private:
    uint64_t noc_addr_;
    uint32_t page_id_;
};

template <typename Accessor>
class Pages {
public:
    struct iterator {
        const Pages* range;
        uint32_t at;
        Page operator*() const { return {range->accessor_.get_noc_addr(at, 0, range->noc_), at}; }
        iterator& operator++() { return ++at, *this; }
        bool operator!=(const iterator& other) const { return at != other.at; }
        bool operator==(const iterator& other) const { return at == other.at; }
    };
    Pages(const Accessor& accessor, uint32_t first, uint32_t end, uint8_t noc)
        : accessor_(accessor), first_(first), end_(end), noc_(noc) {}
    iterator begin() const { return {this, first_}; }
    iterator end() const { return {this, end_}; }

private:
    const Accessor& accessor_;
    uint32_t first_, end_;
    uint8_t noc_;
};

}  // namespace tensor_accessor
