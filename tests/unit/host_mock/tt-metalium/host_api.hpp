// Signature mock, see ../README.md: programs, kernels, circular buffers, semaphores.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <tt-metalium/device.hpp>

#include "../mock_log.hpp"

namespace ttsl {
template <typename T, std::size_t Extent = std::dynamic_extent>
using Span = std::span<T, Extent>;
}  // namespace ttsl

constexpr static std::uint32_t NUM_CIRCULAR_BUFFERS = 64;

namespace tt {

enum class DataFormat : uint8_t {
    Float32 = 0,
    Float16 = 1,
    Float16_b = 5,
    Bfp8_b = 6,
    Bfp4_b = 7,
    Int32 = 8,
    UInt16 = 9,
    UInt32 = 24,
    UInt8 = 30,
};

}  // namespace tt

namespace tt::tt_metal {

enum class MathFidelity : uint8_t { LoFi = 0, HiFi2 = 2, HiFi3 = 3, HiFi4 = 4, Invalid = 0xff };
enum class UnpackToDestMode : uint8_t { UnpackToDestFp32, Default };
enum class DataType { BFLOAT16, FLOAT32 };
enum class BufferType { DRAM, L1, SYSTEM_MEMORY, L1_SMALL, TRACE };
enum class DataMovementProcessor { RISCV_0 = 0, RISCV_1 = 1 };
enum NOC : uint8_t { RISCV_0_default = 0, RISCV_1_default = 1, NOC_0 = 0, NOC_1 = 1 };
enum NOC_MODE : uint8_t { DM_DEDICATED_NOC = 0, DM_DYNAMIC_NOC = 1 };
enum class KernelBuildOptLevel : uint8_t { O1, O2, O3 };

using DeviceAddr = std::uint64_t;
using KernelHandle = std::uint32_t;
using CBHandle = uintptr_t;

}  // namespace tt::tt_metal

// The old global spellings stay for a while, as in the SDK.
using MathFidelity [[deprecated("Use tt::tt_metal::MathFidelity")]] = tt::tt_metal::MathFidelity;
using UnpackToDestMode [[deprecated("Use tt::tt_metal::UnpackToDestMode")]] = tt::tt_metal::UnpackToDestMode;

namespace tt::tt_metal {

struct CoreCoord {
    std::size_t x, y;
};

class CoreRange {
public:
    CoreCoord start_coord, end_coord;
    CoreRange(const CoreCoord& point) : start_coord(point), end_coord(point) {}
    CoreRange(const CoreCoord& start, const CoreCoord& end) : start_coord(start), end_coord(end) {}
};

class CoreRangeSet {
public:
    CoreRangeSet(const CoreRange& range) : ranges_{range} {}
    explicit CoreRangeSet(std::vector<CoreRange>&& ranges) : ranges_(std::move(ranges)) {}
    const std::vector<CoreRange>& ranges() const { return ranges_; }

private:
    std::vector<CoreRange> ranges_;
};

}  // namespace tt::tt_metal

using CoreRange [[deprecated("Use tt::tt_metal::CoreRange")]] = tt::tt_metal::CoreRange;
using CoreRangeSet [[deprecated("Use tt::tt_metal::CoreRangeSet")]] = tt::tt_metal::CoreRangeSet;

namespace tt::tt_metal {

using CoreSpec = std::variant<CoreCoord, CoreRange, CoreRangeSet>;

// [x0, y0, x1, y1] of a core or a rectangle; of several rectangles, one after the other.
inline std::vector<std::size_t> corners(const CoreSpec& spec) {
    if (const auto* core = std::get_if<CoreCoord>(&spec)) {
        return {core->x, core->y, core->x, core->y};
    }
    const auto* set = std::get_if<CoreRangeSet>(&spec);
    const std::vector<CoreRange> ranges = set ? set->ranges() : std::vector<CoreRange>{std::get<CoreRange>(spec)};
    std::vector<std::size_t> all;
    for (const CoreRange& range : ranges) {
        all.insert(all.end(), {range.start_coord.x, range.start_coord.y, range.end_coord.x, range.end_coord.y});
    }
    return all;
}

class Program {
public:
    Program() : id(next_id()++) {}
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    Program(Program&&) noexcept = default;
    Program& operator=(Program&&) noexcept = default;

    int id;
    mutable uint32_t kernels = 0, semaphores = 0;

private:
    static int& next_id() {
        static int id = 0;
        return id;
    }
};

inline Program CreateProgram() { return Program(); }

struct DataMovementConfig {
    DataMovementProcessor processor = DataMovementProcessor::RISCV_0;
    NOC noc = NOC::RISCV_0_default;
    NOC_MODE noc_mode = NOC_MODE::DM_DEDICATED_NOC;
    std::vector<uint32_t> compile_args;
    std::map<std::string, std::string> defines;
    std::unordered_map<std::string, uint32_t> named_compile_args;
    KernelBuildOptLevel opt_level = KernelBuildOptLevel::O2;
    std::vector<std::filesystem::path> compiler_include_paths;
};

struct ReaderDataMovementConfig : public DataMovementConfig {
    ReaderDataMovementConfig(
        std::vector<uint32_t> args = {},
        std::map<std::string, std::string> = {},
        std::unordered_map<std::string, uint32_t> = {},
        KernelBuildOptLevel = KernelBuildOptLevel::O2,
        std::vector<std::filesystem::path> = {}) {
        processor = DataMovementProcessor::RISCV_1;
        noc = NOC::NOC_0;
        compile_args = std::move(args);
    }
};

struct WriterDataMovementConfig : public DataMovementConfig {
    WriterDataMovementConfig(
        std::vector<uint32_t> args = {},
        std::map<std::string, std::string> = {},
        std::unordered_map<std::string, uint32_t> = {},
        KernelBuildOptLevel = KernelBuildOptLevel::O2,
        std::vector<std::filesystem::path> = {}) {
        processor = DataMovementProcessor::RISCV_0;
        noc = NOC::NOC_1;
        compile_args = std::move(args);
    }
};

struct ComputeConfig {
    MathFidelity math_fidelity = MathFidelity::HiFi4;
    bool fp32_dest_acc_en = false;
    bool dst_full_sync_en = false;
    std::vector<UnpackToDestMode> unpack_to_dest_mode;
    bool bfp8_pack_precise = false;
    bool math_approx_mode = false;
    std::vector<uint32_t> compile_args;
    std::map<std::string, std::string> defines;
    std::unordered_map<std::string, uint32_t> named_compile_args;
    KernelBuildOptLevel opt_level = KernelBuildOptLevel::O3;
    std::vector<std::filesystem::path> compiler_include_paths;
};

class Buffer {
public:
    DeviceAddr address = 0;
};

// Not used: a program with `using namespace tt::tt_metal` cannot give these names to types of its own.
struct Tile {};
struct Shape2D {};
struct ShardSpec {};

class CircularBufferConfig {
public:
    CircularBufferConfig& set_globally_allocated_address(const Buffer& buffer) {
        mock::log("set_globally_allocated_address", "address", buffer.address);
        return *this;
    }
    CircularBufferConfig(uint32_t total_size, const std::map<uint8_t, tt::DataFormat>& data_format_spec) :
        total_size(total_size), formats(data_format_spec) {}
    CircularBufferConfig(uint32_t total_size, const std::map<uint8_t, DataType>&) : total_size(total_size) {}
    CircularBufferConfig(uint32_t total_size) : total_size(total_size) {}
    CircularBufferConfig& set_page_size(uint8_t buffer_index, uint32_t page_size) {
        page_sizes[buffer_index] = page_size;
        return *this;
    }

    uint32_t total_size;
    std::map<uint8_t, tt::DataFormat> formats;
    std::map<uint8_t, uint32_t> page_sizes;
};

inline CBHandle CreateCircularBuffer(
    Program& program, const CoreSpec& core_spec, const CircularBufferConfig& config) {
    for (const auto& [index, format] : config.formats) {
        mock::log(
            "CreateCircularBuffer", "program", program.id, "cores", corners(core_spec), "id", int{index}, "format",
            static_cast<int>(format), "total_size", config.total_size, "page_size", config.page_sizes.at(index));
    }
    return 0;
}

inline KernelHandle CreateKernel(
    Program& program,
    const std::string& file_name,
    const CoreSpec& core_spec,
    const std::variant<DataMovementConfig, ComputeConfig>& config) {
    if (const auto* mover = std::get_if<DataMovementConfig>(&config)) {
        mock::log(
            "CreateKernel", "program", program.id, "kernel", program.kernels, "source", file_name, "cores",
            corners(core_spec), "processor", static_cast<int>(mover->processor), "noc", static_cast<int>(mover->noc),
            "compile_args", mover->compile_args);
    } else {
        const auto& compute = std::get<ComputeConfig>(config);
        std::vector<int> modes;
        for (const UnpackToDestMode mode : compute.unpack_to_dest_mode) {
            modes.push_back(static_cast<int>(mode));
        }
        mock::log(
            "CreateKernel", "program", program.id, "kernel", program.kernels, "source", file_name, "cores",
            corners(core_spec), "math_fidelity", static_cast<int>(compute.math_fidelity), "fp32_dest_acc_en",
            compute.fp32_dest_acc_en, "dst_full_sync_en", compute.dst_full_sync_en, "math_approx_mode",
            compute.math_approx_mode, "unpack_to_dest_mode", modes, "compile_args", compute.compile_args);
    }
    return program.kernels++;
}

inline void SetRuntimeArgs(
    const Program& program, KernelHandle kernel, const CoreSpec& core_spec, ttsl::Span<const uint32_t> runtime_args) {
    mock::log(
        "SetRuntimeArgs", "program", program.id, "kernel", kernel, "cores", corners(core_spec), "args", runtime_args);
}

inline void SetRuntimeArgs(
    const Program& program, KernelHandle kernel, const CoreSpec& core_spec,
    std::initializer_list<uint32_t> runtime_args) {
    SetRuntimeArgs(program, kernel, core_spec, ttsl::Span<const uint32_t>(runtime_args.begin(), runtime_args.size()));
}

inline void SetRuntimeArgs(
    const Program&, KernelHandle, const std::vector<CoreCoord>&, const std::vector<std::vector<uint32_t>>&) {
    throw std::logic_error("the mock takes runtime arguments core by core");
}

inline uint32_t CreateSemaphore(
    Program& program, const std::variant<CoreRange, CoreRangeSet>& core_spec, uint32_t initial_value) {
    mock::log(
        "CreateSemaphore", "program", program.id, "cores",
        std::visit([](const auto& cores) { return corners(cores); }, core_spec), "id", program.semaphores, "initial", initial_value);
    return program.semaphores++;
}

}  // namespace tt::tt_metal
