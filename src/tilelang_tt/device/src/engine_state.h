// State of a core's compute engine: DST, what the unpacker, the matrix engine, the vector unit and the packer are set to.
#pragma once

#include <vector>

#include "later.h"
#include "launch.h"
#include "vd/sfpi_abi.h"

namespace vd {

enum class Family : uint8_t {
    None,
    Copy,
    Transpose,
    TransposeDest,
    Matmul,
    MatmulBlock,
    MatmulNoMop,
    Binary,
    SubColumns,
    Reuse,
    UnaryBcast,
    Reduce,
    BlockMax,
    Tilize,
    Untilize,
};
// What a copy turns round: the order of the faces, the elements inside them.
enum Transpose : uint32_t { kFacesTransposed = 1, kWithinTransposed = 2 };
// What the packer or the unpacker keeps doing until its uninit.
struct PackMask {
    bool on = false;
    ckernel::ReduceDim dim = ckernel::ReduceDim::REDUCE_ROW;
    uint32_t line = 0;
};
struct PackUntilize {
    bool on = false;
    uint32_t block = 0, full = 0, line = 0;  // tiles
    uint32_t cb = 0;  // for whose format rows are laid out
};
// Reduced: written by a reduction, whose running maximum of rows lies where the next one looks for it.
// FirstRow: computed from a page of which the first row alone was written; the others may be anything.
enum class DstTile : uint8_t { Zero, Written, Reduced, FirstRow };

// A page that was pushed before it was wholly written.
struct UnwrittenPage {
    uint32_t cb, number, pushed_line;
};

// A pack of a tile of DST that was added to what L1 held.
struct Addition {
    uint32_t dst, line;
    const uint8_t* to;
};

// What lies between tile_regs_acquire and tile_regs_release: a part of DST and what is known of its tiles.
struct DstSection {
    Tile* dst = nullptr;
    DstTile tiles[16] = {};
    UnwrittenPage first_rows[16] = {};  // of tiles that are FirstRow: where from
    bool reduced[16] = {};  // a reduction's result, or computed from one: counts where the packer's mask lets through
    bool unused[16] = {};   // written, and neither packed nor read by another operation since
    uint8_t rows[16] = {};  // that count: fewer than 32 where an operand had fewer
    bool packed = false;    // something of it
    std::vector<Addition> added;  // what the packer has added to L1
};

// Math and pack are two processors: acquire and commit are calls of the one, wait and release of the other. A wait that
// the text has before the commit is kept (kept.h), and math may go on before the packer has released.
struct DstOwners {
    bool math = false, shared = false;  // acquired; by acquire_dst, whose section both use at once
    bool pack = false;                  // waited for and not released
    uint32_t committed = 0;             // sections that the packer has not waited for

    bool free() const { return !math && !pack && committed == 0; }
};

// Running statistics of 32 columns, kept in registers of the vector unit.
struct Welford {
    float mean[32], m2[32];
};

// Between unpack, math and pack. Nobody has set it up while `most` is 0.
struct ProcessorSemaphore {
    uint32_t value = 0, most = 0;
};
constexpr uint32_t kProcessorSemaphores = 8;

// Words that processors of a core send each other: RISCV_0 and compute's three have a queue to each, itself among them.
constexpr uint32_t kMailProcessors = 4;  // in the order of ckernel::ThreadId
struct Mail {
    uint32_t word, line;
};

// Which CB a source register or the packer was last configured for.
struct Source {
    uint32_t cb = 0;
    bool from_startup = true;
};

constexpr uint32_t kNoneYet = kMaxCbs, kNeverSwitched = kMaxCbs + 1;

// What a processor of compute waits for: see kept.h.
enum class Need : uint8_t { Nothing, Room, Pages, Commit, Section, Mailbox };
struct KeptCall {
    uint8_t processors;
    Need need;  // of the call itself; one that only stands behind another of its processor needs nothing
    uint32_t line, cb, pages;
    Later call;
};

struct Engine {
    std::vector<KeptCall> kept;  // in the order of the text
    std::vector<std::vector<uint32_t>> kept_words;  // tables that they were called with
    bool started, reversed;
    bool only_unary_startup;  // init_sfpu started the engine, and nothing has happened since
    Source srca, srcb;
    uint32_t pack_cb;
    uint32_t pack_width;  // tiles that one pack moves
    bool l1_acc;
    uint32_t l1_acc_line;
    uint32_t l1_acc_cb;  // first buffer packed to since accumulation was last switched; or kNoneYet, kNeverSwitched
    uint32_t overwrite_calls;  // times pack_reconfig_l1_acc(0) was called
    DstOwners owners;
    DstSection section;               // of math: the last one acquired
    std::vector<DstSection> earlier;  // that the packer has not released, while math is in a later one
    std::vector<Tile*> spare;         // DST of such sections that are over
    Family family;
    uint32_t init_cb;    // the operand that the init of a copy, broadcast, tilize or untilize was for
    uint32_t transpose;  // of a matmul: 0 or 1; of a copy: Transpose
    uint32_t ct, rt, kt;
    bool triggered;  // a reduction that waits for a semaphore of the packer instead of the buffer
    Binary binary;
    Broadcast broadcast;
    bool accumulate;
    Reuse reuse;
    ckernel::PoolType pool;
    ckernel::ReduceDim dim;
    bool masked;  // a reduction was set up and is not over: the packer has its mask, or will have it when it comes so far
    PackMask mask;
    PackUntilize untilize;
    uint32_t relu, relu_threshold;  // as in ckernel::ReluType; 16 bits
    SfpuCall sfpu;                  // the last init of the vector unit
    float running[2][kFace];        // sums that cumsum_tile carries to the tile below
    Welford welford;
    SfpiState sfpi;
    uint32_t last_dst;              // the tile that an operation addressed last
    ProcessorSemaphore processor_semaphores[kProcessorSemaphores];
    uint64_t random;                // state of the generator of random numbers
    uint32_t sections;  // DST sections begun
    uint32_t lossy_sections;  // of those that are over: that left a result behind which nobody used
    Tile *srca_tiles, *srcb_tiles;  // unpacked operands of one call
};

}  // namespace vd
