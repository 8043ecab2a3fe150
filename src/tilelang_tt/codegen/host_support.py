"""The part of main.cpp that is the same for every plan: C++ text, in the order it is printed.

Messages name files, tensors and numbers; a caller's mistake ends the program before a device is opened.
"""

from __future__ import annotations

INCLUDES = """\
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tt-metalium/constants.hpp>
#include <tt-metalium/device.hpp>
#include <tt-metalium/distributed.hpp>
#include <tt-metalium/host_api.hpp>
#include <tt-metalium/tensor_accessor_args.hpp>

using namespace tt::constants;
using namespace tt::tt_metal;

// Kernel sources are looked for in the working directory unless the build says where they are.
#ifndef OVERRIDE_KERNEL_PREFIX
#define OVERRIDE_KERNEL_PREFIX ""
#endif
"""

COMMAND_LINE = """\
// Command-line words `name=value` by name.
using Words = std::map<std::string, std::string>;

std::string take(Words& words, const std::string& name) {
    const auto found = words.find(name);
    if (found == words.end()) {
        throw std::runtime_error("'" + name + "' has no value; usage: " + kUsage);
    }
    const std::string text = found->second;
    words.erase(found);
    return text;
}

int64_t take_integer(Words& words, const std::string& name, int64_t low, int64_t high) {
    const std::string text = take(words, name);
    size_t used = 0;
    int64_t value = 0;
    try {
        value = std::stoll(text, &used);
    } catch (const std::exception&) {
        used = 0;
    }
    if (used == 0 || used != text.size() || value < low || value > high) {
        throw std::runtime_error(
            name + "=" + text + " is not an integer from " + std::to_string(low) + " to " +
            std::to_string(high));
    }
    return value;
}

double take_number(Words& words, const std::string& name) {
    const std::string text = take(words, name);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\\0') {
        throw std::runtime_error(name + "=" + text + " is not a number");
    }
    return value;
}
"""

TENSOR = """\
// Tiles as they lie in DRAM, page after page.
using Pages = std::vector<uint8_t>;

// A tensor in DRAM: 32x32 tiles, one per page, pages interleaved over the banks.
struct TileTensor {
    std::string name;
    tt::DataFormat format;
    uint32_t page_bytes;
    int64_t batch, row_tiles, col_tiles;
    int64_t rows, cols;  // elements of one batch entry; the rest of its last tiles is padding
    std::shared_ptr<distributed::MeshBuffer> buffer = nullptr;

    uint64_t bytes() const { return static_cast<uint64_t>(batch * row_tiles * col_tiles) * page_bytes; }
    uint32_t address() const { return static_cast<uint32_t>(buffer->address()); }
};

void allocate(distributed::MeshDevice& mesh_device, TileTensor& tensor) {
    const distributed::DeviceLocalBufferConfig dram_config{
        .page_size = tensor.page_bytes, .buffer_type = BufferType::DRAM};
    const distributed::ReplicatedBufferConfig buffer_config{.size = tensor.bytes()};
    tensor.buffer = distributed::MeshBuffer::create(buffer_config, dram_config, &mesh_device);
}

void require_size(const std::filesystem::path& path, const TileTensor& tensor) {
    if (!std::filesystem::exists(path)) {
        throw std::runtime_error(path.string() + " is missing: the tiles of tensor '" + tensor.name + "'");
    }
    const uint64_t found = std::filesystem::file_size(path);
    if (found != tensor.bytes()) {
        throw std::runtime_error(
            path.string() + " has " + std::to_string(found) + " bytes; tensor '" + tensor.name + "' has " +
            std::to_string(tensor.bytes()) + " (" + std::to_string(tensor.batch) + " x " +
            std::to_string(tensor.row_tiles) + " x " + std::to_string(tensor.col_tiles) + " tiles of " +
            std::to_string(tensor.page_bytes) + " B)");
    }
}

std::filesystem::path file_of(
    const std::filesystem::path& directory, const TileTensor& tensor, const char* ending) {
    return directory / (tensor.name + ending);
}

Pages read_pages(const std::filesystem::path& path, const TileTensor& tensor) {
    require_size(path, tensor);
    Pages pages(tensor.bytes());
    std::ifstream file(path, std::ios::binary);
    if (!file.read(reinterpret_cast<char*>(pages.data()), static_cast<std::streamsize>(pages.size()))) {
        throw std::runtime_error("cannot read " + path.string());
    }
    return pages;
}

void write_pages(const std::filesystem::path& path, const Pages& pages) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(pages.data()), static_cast<std::streamsize>(pages.size()));
    if (!file.flush()) {
        throw std::runtime_error("cannot write " + path.string());
    }
}

// What can be said of a tensor's files before a device is opened.
void check_files(const std::filesystem::path& directory, const TileTensor& tensor, bool is_input) {
    const std::filesystem::path path = file_of(directory, tensor, ".bin");
    const std::filesystem::path reference_path = file_of(directory, tensor, ".ref.bin");
    if (is_input || std::filesystem::exists(path)) {
        require_size(path, tensor);
    }
    if (std::filesystem::exists(reference_path)) {
        require_size(reference_path, tensor);
    }
}

// A tensor that is only written may do without a file; it starts as zeros then.
void upload(distributed::MeshCommandQueue& cq, TileTensor& tensor, const std::filesystem::path& directory) {
    const std::filesystem::path path = file_of(directory, tensor, ".bin");
    const Pages pages = std::filesystem::exists(path) ? read_pages(path, tensor) : Pages(tensor.bytes());
    distributed::EnqueueWriteMeshBuffer(cq, tensor.buffer, pages, /*blocking=*/true);
}
"""

COMPARISON = """\
// Bytes of one element; 0 for block floating point, whose elements share exponents.
uint32_t element_bytes(tt::DataFormat format) {
    switch (format) {
        case tt::DataFormat::Float32:
        case tt::DataFormat::Int32:
        case tt::DataFormat::UInt32: return 4;
        case tt::DataFormat::Float16:
        case tt::DataFormat::Float16_b:
        case tt::DataFormat::UInt16: return 2;
        case tt::DataFormat::UInt8: return 1;
        default: return 0;
    }
}

bool has_values(tt::DataFormat format) {
    return format == tt::DataFormat::Float32 || format == tt::DataFormat::Float16_b;
}

double value_of(tt::DataFormat format, const uint8_t* element) {
    uint32_t bits = 0;
    if (format == tt::DataFormat::Float32) {
        std::memcpy(&bits, element, 4);
    } else {  // Float16_b: the upper half of a Float32
        uint16_t upper = 0;
        std::memcpy(&upper, element, 2);
        bits = static_cast<uint32_t>(upper) << 16;
    }
    return std::bit_cast<float>(bits);
}

// Byte offset of an element: four faces make a tile, two beside two.
uint64_t offset_of(const TileTensor& tensor, int64_t b, int64_t row, int64_t col, uint32_t width) {
    const int64_t page = (b * tensor.row_tiles + row / TILE_HEIGHT) * tensor.col_tiles + col / TILE_WIDTH;
    const int64_t face = row % TILE_HEIGHT / FACE_HEIGHT * 2 + col % TILE_WIDTH / FACE_WIDTH;
    const int64_t element = face * FACE_HW + row % FACE_HEIGHT * FACE_WIDTH + col % FACE_WIDTH;
    return static_cast<uint64_t>(page) * tensor.page_bytes + static_cast<uint64_t>(element) * width;
}

struct Difference {
    uint64_t compared = 0, differing = 0;  // elements; pages of a block format
    double max_abs_error = 0;
};

void compare(
    Difference& difference, tt::DataFormat format, const uint8_t* ours, const uint8_t* theirs, size_t width) {
    ++difference.compared;
    if (std::memcmp(ours, theirs, width) == 0) {
        return;
    }
    ++difference.differing;
    if (has_values(format)) {
        const double a = value_of(format, ours), b = value_of(format, theirs);
        const bool same = a == b || (std::isnan(a) && std::isnan(b));
        const double error = same ? 0 : std::abs(a - b);
        difference.max_abs_error = std::max(
            difference.max_abs_error, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
    }
}

// Padding does not count, except in block formats, which are compared page by page.
Difference difference_of(const TileTensor& tensor, const Pages& result, const Pages& reference) {
    Difference difference;
    const uint32_t width = element_bytes(tensor.format);
    if (width == 0) {
        for (uint64_t at = 0; at < tensor.bytes(); at += tensor.page_bytes) {
            compare(difference, tensor.format, &result[at], &reference[at], tensor.page_bytes);
        }
        return difference;
    }
    for (int64_t b = 0; b < tensor.batch; ++b) {
        for (int64_t row = 0; row < tensor.rows; ++row) {
            for (int64_t col = 0; col < tensor.cols; ++col) {
                const uint64_t at = offset_of(tensor, b, row, col, width);
                compare(difference, tensor.format, &result[at], &reference[at], width);
            }
        }
    }
    return difference;
}

// Saves the tensor; true unless a reference is there and says otherwise.
bool download(
    distributed::MeshCommandQueue& cq,
    TileTensor& tensor,
    const std::filesystem::path& directory,
    double tolerance) {
    Pages result;
    distributed::EnqueueReadMeshBuffer(cq, result, tensor.buffer, /*blocking=*/true);
    const std::filesystem::path path = file_of(directory, tensor, ".out.bin");
    write_pages(path, result);
    std::cout << tensor.name << ": " << path.string();

    const std::filesystem::path reference_path = file_of(directory, tensor, ".ref.bin");
    if (!std::filesystem::exists(reference_path)) {
        std::cout << ", not compared (no " << reference_path.string() << ")\\n";
        return true;
    }
    const Difference difference = difference_of(tensor, result, read_pages(reference_path, tensor));
    std::cout << ", " << difference.differing << " of " << difference.compared
              << (element_bytes(tensor.format) == 0 ? " pages" : " elements") << " differ";
    bool pass = difference.differing == 0;
    if (has_values(tensor.format)) {
        pass = difference.max_abs_error <= tolerance;
        std::cout << ", max abs error " << difference.max_abs_error << " (tolerance " << tolerance << ")";
    }
    std::cout << (pass ? ": ok\\n" : ": MISMATCH\\n");
    return pass;
}
"""

LAUNCH = """\
// The bits of a 4-byte runtime argument.
uint32_t word(int64_t value) {
    if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<uint32_t>::max()) {
        throw std::runtime_error("runtime argument " + std::to_string(value) + " does not fit in 32 bits");
    }
    return static_cast<uint32_t>(value);
}

// Units of work that one core does.
struct Share {
    uint32_t start, count;
};

// Contiguous shares in row-major order of the cores. They differ by at most one unit, the larger ones first;
// a core beyond the work gets none.
Share share_of_core(int64_t units, int64_t cores, int64_t core) {
    const int64_t share = units / cores, extra = units % cores;
    return {word(core * share + std::min(core, extra)), word(share + (core < extra ? 1 : 0))};
}

void create_cb(
    Program& program,
    const tt::tt_metal::CoreRange& cores,
    tt::CBIndex index,
    tt::DataFormat format,
    uint32_t pages,
    uint32_t page_bytes) {
    CreateCircularBuffer(
        program,
        cores,
        CircularBufferConfig(pages * page_bytes, {{index, format}}).set_page_size(index, page_bytes));
}
"""

SECOND_VIEW = """\
// A circular buffer whose pages have a second number, so that they can be unpacked in another way.
void create_cb(
    Program& program,
    const tt::tt_metal::CoreRange& cores,
    tt::CBIndex index,
    tt::DataFormat format,
    uint32_t pages,
    uint32_t page_bytes,
    tt::CBIndex view) {
    CircularBufferConfig config(pages * page_bytes, {{index, format}, {view, format}});
    config.set_page_size(index, page_bytes);
    config.set_page_size(view, page_bytes);
    CreateCircularBuffer(program, cores, config);
}
"""

SEMAPHORE = """\
// Kernels name semaphores by number, so the number must be the one they were compiled with.
void create_semaphore(Program& program, const tt::tt_metal::CoreRange& cores, uint32_t id, uint32_t initial) {
    const uint32_t given = CreateSemaphore(program, cores, initial);
    if (given != id) {
        throw std::runtime_error(
            "semaphore " + std::to_string(id) + " was given the number " + std::to_string(given));
    }
}
"""

FLOOR_DIV = """\
// Quotient and remainder rounded towards minus infinity; the operands may be negative here.
int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }
int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }
"""

MAIN = """\
int main(int argc, char** argv) {
    try {
        return run(parse(argc, argv)) ? EXIT_SUCCESS : kMismatch;
    } catch (const std::exception& e) {
        std::cerr << "error: " << e.what() << "\\n";
        return kError;
    }
}
"""

# Templates: {…} is filled in from the plan, {{ and }} are braces of C++.

PARSE = """\
struct CommandLine {{
    std::filesystem::path directory = ".";
    int device_id = 0;
    double tolerance = 0;  // largest absolute error of a result
{args}}};

CommandLine parse(int argc, char** argv) {{
    CommandLine line;
    Words words = {{{{"--device", "0"}}, {{"--tolerance", "0"}}}};
    for (int i = 1; i < argc; ++i) {{
        const std::string word = argv[i];
        if (const size_t equals = word.find('='); equals != std::string::npos) {{
            words[word.substr(0, equals)] = word.substr(equals + 1);
        }} else if (std::filesystem::is_directory(word)) {{
            line.directory = word;
        }} else {{
            throw std::runtime_error("'" + word + "' is not a directory; usage: " + kUsage);
        }}
    }}
    line.device_id =
        static_cast<int>(take_integer(words, "--device", 0, std::numeric_limits<int32_t>::max()));
    line.tolerance = take_number(words, "--tolerance");
{takes}    if (!words.empty()) {{
        throw std::runtime_error("'" + words.begin()->first + "' means nothing here; usage: " + kUsage);
    }}
    return line;
}}
"""

RUN = """\
void require_device(const distributed::MeshDevice& mesh_device) {{
    if (mesh_device.arch() != tt::ARCH::{arch}) {{
        throw std::runtime_error("the kernels were compiled for {title}; this device is another chip");
    }}
    const CoreCoord grid = mesh_device.compute_with_storage_grid_size();
    if (grid.x < {grid_x} || grid.y < {grid_y}) {{
        throw std::runtime_error(
            "the plan uses {grid_x}x{grid_y} cores; this device has " + std::to_string(grid.x) + "x" +
            std::to_string(grid.y));
    }}
}}

// True when no result differs from its reference.
bool run(const CommandLine& line) {{
    Tensors tensors = describe_tensors({args});
{checks}
    const std::shared_ptr<distributed::MeshDevice> mesh_device =
        distributed::MeshDevice::create_unit_mesh(line.device_id);
    require_device(*mesh_device);
    distributed::MeshCommandQueue& cq = mesh_device->mesh_command_queue();

{allocations}
{uploads}
    // One program after the other, on the same tensors.
    std::vector<distributed::MeshWorkload> workloads;
{workloads}    for (distributed::MeshWorkload& workload : workloads) {{
        distributed::EnqueueMeshWorkload(cq, workload, /*blocking=*/false);
    }}
    distributed::Finish(cq);

    bool pass = true;
{downloads}    pass &= mesh_device->close();
    return pass;
}}
"""
