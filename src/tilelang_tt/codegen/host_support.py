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

// Where tt-metal finds its own files when it runs, if the variable TT_METAL_RUNTIME_ROOT does not say. The build
// knows it; empty: where a package of tt-metal puts them.
#ifndef TT_METAL_ROOT
#define TT_METAL_ROOT ""
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
    if (*TT_METAL_ROOT != '\\0') {
        setenv("TT_METAL_RUNTIME_ROOT", TT_METAL_ROOT, /*overwrite=*/0);
    }
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
{assertions}    return pass;
}}
"""
