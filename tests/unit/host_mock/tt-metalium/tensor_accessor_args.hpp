// Signature mock, see ../README.md: compile-time words of an interleaved tensor.
#pragma once

#include <tt-metalium/distributed.hpp>

namespace tt::tt_metal {

class TensorAccessorArgs {
public:
    explicit TensorAccessorArgs(const distributed::MeshBuffer& buffer) : buffer_(&buffer) {}
    // Flags (2: in DRAM, interleaved) and the page size, as the SDK packs an interleaved buffer.
    void append_to(std::vector<uint32_t>& compile_time_args) const {
        compile_time_args.push_back(buffer_->config.buffer_type == BufferType::DRAM ? 2 : 0);
        compile_time_args.push_back(static_cast<uint32_t>(buffer_->config.page_size));
    }

private:
    const distributed::MeshBuffer* buffer_;
};

}  // namespace tt::tt_metal
