// Ranges over the pages of a tensor and of a shard.
#pragma once

#include <cstddef>

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

// The pages of a shard that the tensor has: a shard at its edge may reach beyond it.
template <typename Accessor>
class ShardPages {
public:
    class iterator {
    public:
        iterator(const ShardPages* range, uint32_t at) : range_(range), at_(at), page_(0, 0) { settle(); }
        const Page& operator*() const { return page_; }
        const Page* operator->() const { return &page_; }
        iterator& operator++() { return *this += 1; }
        iterator& operator+=(std::ptrdiff_t steps) {
            at_ += static_cast<uint32_t>(steps);
            return settle(static_cast<uint32_t>(steps)), *this;
        }
        bool operator!=(const iterator& other) const { return at_ != other.at_; }
        bool operator==(const iterator& other) const { return at_ == other.at_; }

    private:
        void settle(uint32_t steps = 1) {
            while (at_ < range_->end_ && !range_->find(at_, page_)) at_ += steps;
            if (at_ > range_->end_) at_ = range_->end_;
        }
        const ShardPages* range_;
        uint32_t at_;
        Page page_;
    };
    ShardPages(const Accessor& accessor, uint32_t shard, uint32_t first, uint32_t end, uint8_t noc)
        : accessor_(accessor), shard_(shard), first_(first), end_(end), noc_(noc) {}
    iterator begin() const { return {this, first_}; }
    iterator end() const { return {this, end_}; }

private:
    // The page at a place of the shard; false when the tensor ends before it.
    bool find(uint32_t within, Page& page) const {
        const auto& spec = accessor_.dspec();
        uint32_t left = within, shard = shard_, id = 0, stride = 1;
        for (uint32_t axis = spec.rank(); axis-- > 0;) {
            const uint32_t part = spec.shard_shape()[axis], grid = spec.shard_grid()[axis];
            const uint32_t at = shard % grid * part + left % part;
            if (at >= spec.tensor_shape()[axis]) return false;
            id += at * stride;
            stride *= spec.tensor_shape()[axis];
            shard /= grid;
            left /= part;
        }
        page = Page(accessor_.get_noc_addr(id, 0, noc_), id);
        return true;
    }
    const Accessor& accessor_;
    uint32_t shard_, first_, end_;
    uint8_t noc_;
};

// Shard after shard, each a range of its pages.
template <typename Accessor>
class StridedShardPages {
public:
    struct iterator {
        const StridedShardPages* range;
        uint32_t at;
        ShardPages<Accessor> operator*() const { return range->accessor_.shard_pages(at, 0, 0, range->noc_); }
        iterator& operator++() { return ++at, *this; }
        bool operator!=(const iterator& other) const { return at != other.at; }
        bool operator==(const iterator& other) const { return at == other.at; }
    };
    StridedShardPages(const Accessor& accessor, uint32_t shards, uint8_t noc) : accessor_(accessor), shards_(shards), noc_(noc) {}
    iterator begin() const { return {this, 0}; }
    iterator end() const { return {this, shards_}; }

private:
    const Accessor& accessor_;
    uint32_t shards_;
    uint8_t noc_;
};

}  // namespace tensor_accessor
