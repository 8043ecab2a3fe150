// Signature mock, see ../README.md: where shards of a buffer lie.
#pragma once

#include <initializer_list>
#include <vector>

#include <tt-metalium/host_api.hpp>

namespace tt::tt_metal {

class Shape {
public:
    Shape(std::initializer_list<uint32_t> sides) : sides(sides) {}
    std::vector<uint32_t> sides;
};

class BufferDistributionSpec {
public:
    BufferDistributionSpec(const Shape& tensor_shape_in_pages, const Shape& shard_shape_in_pages,
                           std::vector<CoreCoord> cores) :
        pages(tensor_shape_in_pages), shard(shard_shape_in_pages), cores(std::move(cores)) {}
    Shape pages, shard;
    std::vector<CoreCoord> cores;
};

}  // namespace tt::tt_metal
