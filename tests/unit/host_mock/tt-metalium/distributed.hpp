// Signature mock, see ../README.md: the mesh device, its buffers, its queue and workloads.
#pragma once

#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include <tt-metalium/buffer_distribution_spec.hpp>
#include <tt-metalium/host_api.hpp>

namespace tt::tt_metal::distributed {

class MeshShape {};

class MeshCoordinateRange {
public:
    explicit MeshCoordinateRange(const MeshShape&) {}
};

class MeshCommandQueue {};

class MeshDevice {
public:
    static std::shared_ptr<MeshDevice> create_unit_mesh(int device_id) {
        const char* root = std::getenv("TT_METAL_RUNTIME_ROOT");
        mock::log("create_unit_mesh", "device", device_id, "root", root != nullptr ? root : "");
        return std::make_shared<MeshDevice>();
    }
    tt::ARCH arch() const {
        const char* name = std::getenv("HOST_MOCK_ARCH");
        return name != nullptr && std::string(name) == "BLACKHOLE" ? tt::ARCH::BLACKHOLE : tt::ARCH::WORMHOLE_B0;
    }
    CoreCoord compute_with_storage_grid_size() const {
        CoreCoord grid{8, 8};
        if (const char* text = std::getenv("HOST_MOCK_GRID")) {
            std::sscanf(text, "%zux%zu", &grid.x, &grid.y);
        }
        return grid;
    }
    CoreCoord worker_core_from_logical_core(const CoreCoord& core) const { return {core.x + 18, core.y + 18}; }
    const MeshShape& shape() const { return shape_; }
    MeshCommandQueue& mesh_command_queue(std::optional<uint8_t> = std::nullopt) const { return queue_; }
    bool close() {
        mock::log("close");
        return true;
    }

private:
    MeshShape shape_;
    mutable MeshCommandQueue queue_;
};

class BufferShardingArgs {
public:
    BufferShardingArgs() = default;
    BufferShardingArgs(std::optional<BufferDistributionSpec> spec) : spec(std::move(spec)) {}
    std::optional<BufferDistributionSpec> spec;
};

struct DeviceLocalBufferConfig {
    DeviceAddr page_size = 0;
    BufferType buffer_type = BufferType::DRAM;
    BufferShardingArgs sharding_args;
};

struct ReplicatedBufferConfig {
    DeviceAddr size = 0;
};

struct ShardedBufferConfig {
    DeviceAddr global_size = 0;
};

using MeshBufferConfig = std::variant<ReplicatedBufferConfig, ShardedBufferConfig>;

class MeshBuffer {
public:
    static std::shared_ptr<MeshBuffer> create(
        const MeshBufferConfig& mesh_buffer_config, const DeviceLocalBufferConfig& device_local_config,
        MeshDevice* mesh_device, std::optional<DeviceAddr> = std::nullopt) {
        static DeviceAddr next_address = 0x100000;
        if (mesh_device == nullptr) {
            throw std::logic_error("a buffer needs a device");
        }
        auto buffer = std::make_shared<MeshBuffer>();
        buffer->config = device_local_config;
        buffer->memory.assign(std::get<ReplicatedBufferConfig>(mesh_buffer_config).size, 0xee);
        buffer->address_ = next_address;
        next_address += 0x10000;
        mock::log(
            "MeshBuffer", "address", buffer->address_, "size", buffer->size(), "page_size", device_local_config.page_size,
            "dram", device_local_config.buffer_type == BufferType::DRAM);
        if (const auto& spec = device_local_config.sharding_args.spec) {
            mock::log("shards", "address", buffer->address_, "pages", spec->pages.sides, "shard", spec->shard.sides,
                      "cores", spec->cores.size());
        }
        return buffer;
    }
    DeviceAddr size() const { return memory.size(); }
    DeviceAddr address() const { return address_; }
    Buffer* get_backing_buffer() const {
        backing_.address = address_;
        return &backing_;
    }

    DeviceLocalBufferConfig config;
    std::vector<uint8_t> memory;

private:
    mutable Buffer backing_;
    DeviceAddr address_ = 0;
};

class MeshWorkload {
public:
    MeshWorkload() = default;
    ~MeshWorkload() {
        if (program_) {
            mock::log("~MeshWorkload", "program", program_->id);
        }
    }
    MeshWorkload(MeshWorkload&& other) noexcept : program_(std::move(other.program_)) {}
    MeshWorkload& operator=(MeshWorkload&& other) noexcept {
        program_ = std::move(other.program_);
        return *this;
    }
    void add_program(const MeshCoordinateRange&, Program&& program) {
        program_ = std::make_unique<Program>(std::move(program));
    }
    int id() const { return program_->id; }

private:
    std::unique_ptr<Program> program_;
};

inline void EnqueueMeshWorkload(MeshCommandQueue&, MeshWorkload& mesh_workload, bool blocking) {
    mock::log("EnqueueMeshWorkload", "program", mesh_workload.id(), "blocking", blocking);
}

inline void Finish(MeshCommandQueue&) { mock::log("Finish"); }

template <typename DType>
void EnqueueWriteMeshBuffer(
    MeshCommandQueue&, std::shared_ptr<MeshBuffer>& mesh_buffer, const std::vector<DType>& src, bool blocking = false) {
    if (src.size() * sizeof(DType) < mesh_buffer->size()) {
        throw std::logic_error("source vector is too small for the buffer");
    }
    std::memcpy(mesh_buffer->memory.data(), src.data(), mesh_buffer->size());
    mock::log("EnqueueWriteMeshBuffer", "address", mesh_buffer->address(), "blocking", blocking);
}

template <typename DType>
void EnqueueReadMeshBuffer(
    MeshCommandQueue&, std::vector<DType>& dst, std::shared_ptr<MeshBuffer>& mesh_buffer, bool blocking = true) {
    dst.resize(mesh_buffer->size() / sizeof(DType));
    std::memcpy(dst.data(), mesh_buffer->memory.data(), mesh_buffer->size());
    mock::log("EnqueueReadMeshBuffer", "address", mesh_buffer->address(), "blocking", blocking);
}

}  // namespace tt::tt_metal::distributed
