// What a run is described by: the chip, tensors, and launches with their kernels, buffers and semaphores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vd/abi.h"
#include "vd/ops.h"

namespace vd {

constexpr uint32_t kFace = 16;
constexpr uint32_t kTileElements = 1024;
constexpr uint32_t kMaxCbs = 64;
constexpr uint32_t kZerosBytes = 512;  // MEM_ZEROS_SIZE
constexpr uint8_t kPoison = 0xA5;      // L1 contents before anything is written
constexpr uint32_t kMarkStep = 512;    // a free page carries a poison mark at every so many bytes
constexpr uint32_t kMarkBytes = 16;
constexpr uint32_t kNocLocalBits = 36;  // bits of a NoC address, see dataflow_api.h
constexpr uint32_t kNocNodeBits = 6;
constexpr uint32_t kDramRow = 63;     // y coordinate that stands for "DRAM bank x"
constexpr uint32_t kOutsideRow = 62;  // "past the pages of tensor x": an address that no transfer may use

constexpr uint8_t kManyCores = 255;

enum class Fidelity : uint8_t { LoFi, HiFi2, HiFi3, HiFi4 };

// A processor of a core, named after its usual work: RISCV_1 reads, RISCV_0 writes. Any: not known (yet).
enum class Role : uint8_t { Reader, Compute, Writer, Any };
constexpr uint32_t kRoles = 3;
constexpr uint32_t kMaxSemaphores = 16;     // NUM_SEMAPHORES
constexpr uint32_t kSemaphoreStride = 16;   // bytes; each has an L1 word of its own alignment
constexpr uint32_t kNoPage = 0xffffffff;

struct Chip {
    uint32_t l1_bytes, l1_base, cb_count, dram_banks, dram_read_align, noc_align, zeros_base, grid_x, grid_y;
    bool blackhole;

    uint32_t cores() const { return grid_x * grid_y; }
    // Semaphores lie in the kernel configuration area, just below what programs may allocate.
    uint32_t semaphore_offset(uint32_t id) const { return l1_base - (kMaxSemaphores - id) * kSemaphoreStride; }
};

// Decoded tile, faces in order: F0 top-left, F1 top-right, F2 bottom-left, F3 bottom-right.
struct alignas(64) Tile {
    float at[4][kFace][kFace];
};

inline float& element(Tile& tile, uint32_t row, uint32_t col) {
    return tile.at[row / kFace * 2 + col / kFace][row % kFace][col % kFace];
}

// A tensor: pages spread over banks. A bank is a DRAM bank, or the L1 of the core with that number (y * grid_x + x).
// Interleaved: page i lies in bank i % banks at address + (i / banks) * page_bytes. Sharded: each page has a place of
// its own. On the host, DRAM pages are stored one after the other (sharded: bank by bank); L1 pages lie in the L1 that
// every core shares with Python, so that buffers placed on a tensor are that tensor.
struct Tensor {
    char name[64];
    bool dram = true, sharded = false;
    bool flat = false;  // used by elements: cores may write different bytes of one page
    uint32_t address = 0, page_bytes = 0, pages = 0;
    uint32_t banks = 0, slots = 0;  // sharded: slots of every bank
    uint8_t* bytes = nullptr;       // DRAM only
    uint8_t* marks = nullptr;       // one byte per page: set when a kernel writes it
    std::vector<uint32_t> place_of;  // sharded: bank * slots + slot of each page
    std::vector<uint32_t> page_at;   // sharded: the inverse, kNoPage where no page lies
    // Per page, who touched it in this launch: 0, a core's index + 1, or kManyCores.
    std::vector<uint8_t> readers, writers;
    std::vector<uint8_t> byte_writers;  // the same per byte, of a flat tensor

    uint32_t bank_of(uint32_t page) const { return sharded ? place_of[page] / slots : page % banks; }
    uint32_t slot_of(uint32_t page) const { return sharded ? place_of[page] % slots : page / banks; }
    uint32_t page_of(uint32_t bank, uint64_t slot) const;  // kNoPage when none lies there
    uint8_t* page_bytes_at(uint32_t page) const;
};

struct CbConfig {
    bool used = false;
    char name[64] = "";
    DataFormat declared = DataFormat::Invalid;  // what the program says: checked against the configuration
    DataFormat storage = DataFormat::Invalid;   // what the bytes are: Float32 throughout in exact numerics
    uint32_t page_bytes = 0, pages = 0, offset = 0;
    uint32_t tile_rows = 32, tile_cols = 32;
    Role producer = Role::Any, consumer = Role::Any;  // Any: whoever comes first
    bool to_dest = false;
    bool on_tensor = false;  // its pages are the shard of a tensor in L1
};

// Runtime arguments. Addresses of L1 become pointers into the L1 of the core that asks.
struct Arguments {
    std::vector<uint32_t> values;
    std::vector<uint32_t> l1_addresses;  // indices

    uint32_t at(uint32_t index) const;
};

struct KernelConfig {
    bool used = false;
    void (*entry)() = nullptr;
    uint8_t noc = 0;
    bool watched = true;  // its loads and stores through pointers are seen
    Arguments common_args;
    uint8_t* globals = nullptr;  // where its mutable globals lie, if it has any
    std::vector<uint8_t> initial_globals;
};

struct SemaphoreConfig {
    bool used = false;
    uint32_t initial = 0;
};

// What cores with the same kernels and buffers have in common.
struct CoreGroup {
    bool fp32_dest = false, full_sync = false, math_approx = false;
    Fidelity fidelity = Fidelity::HiFi4;
    CbConfig cbs[kMaxCbs];
    std::vector<uint32_t> cb_ids;  // the used ones
    KernelConfig kernels[kRoles];
    SemaphoreConfig semaphores[kMaxSemaphores];

    uint32_t dst_tiles() const { return (full_sync ? 16u : 8u) / (fp32_dest ? 2u : 1u); }
};

struct CoreConfig {
    uint32_t x, y, group;
    Arguments args[kRoles];
};

struct Launch {
    char name[64];
    std::vector<CoreGroup> groups;
    std::vector<CoreConfig> cores;  // those with a kernel, in the order of the program
    bool semaphores = false;        // any group has one
    bool reaches_cores = false;     // a kernel can name another core
    bool globals = false;           // a kernel has mutable globals

    // Cores talk to each other: all of them run on one thread, each in an L1 of its own.
    bool connected() const { return semaphores || reaches_cores; }
};

}  // namespace vd
