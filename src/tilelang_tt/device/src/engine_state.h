// State of a core's compute engine: DST, what the unpacker, the matrix engine, the vector unit and the packer are set to.
#pragma once

#include "launch.h"
#include "vd/sfpi_abi.h"

namespace vd {

enum class DstState : uint8_t { Released, Acquired, Committed, Waited, Shared };
enum class Family : uint8_t {
    None,
    Copy,
    Transpose,
    TransposeDest,
    Matmul,
    MatmulBlock,
    Binary,
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
};
// Reduced: written by a reduction, whose running maximum of rows lies where the next one looks for it.
// FirstRow: computed from a page of which the first row alone was written; the others may be anything.
enum class DstTile : uint8_t { Zero, Written, Reduced, FirstRow };

// A page that was pushed before it was wholly written.
struct UnwrittenPage {
    uint32_t cb, number, pushed_line;
};

// Running statistics of 32 columns, kept in registers of the vector unit.
struct Welford {
    float mean[32], m2[32];
};

// Which CB a source register or the packer was last configured for.
struct Source {
    uint32_t cb = 0;
    bool from_startup = true;
};

constexpr uint32_t kNoneYet = kMaxCbs, kNeverSwitched = kMaxCbs + 1;

struct Engine {
    bool started, reversed;
    bool only_unary_startup;  // init_sfpu started the engine, and nothing has happened since
    Source srca, srcb;
    uint32_t pack_cb;
    bool l1_acc;
    uint32_t l1_acc_line;
    uint32_t l1_acc_cb;  // first buffer packed to since accumulation was last switched; or kNoneYet, kNeverSwitched
    uint32_t overwrite_calls;  // times pack_reconfig_l1_acc(0) was called
    DstState dst_state;
    Family family;
    uint32_t transpose;  // of a matmul: 0 or 1; of a copy: Transpose
    uint32_t ct, rt, kt;
    Binary binary;
    Broadcast broadcast;
    bool accumulate;
    Reuse reuse;
    ckernel::PoolType pool;
    ckernel::ReduceDim dim;
    PackMask mask;
    PackUntilize untilize;
    uint32_t relu, relu_threshold;  // as in ckernel::ReluType; 16 bits
    SfpuCall sfpu;                  // the last init of the vector unit
    float running[2][kFace];        // sums that cumsum_tile carries to the tile below
    Welford welford;
    SfpiState sfpi;
    uint64_t random;                // state of the generator of random numbers
    DstTile tiles[16];
    UnwrittenPage first_rows[16];  // of tiles that are FirstRow: where from
    bool packed;  // something of this DST section
    uint32_t sections;  // DST sections begun
    Tile* dst;
    Tile *srca_tiles, *srcb_tiles;  // unpacked operands of one call
};

}  // namespace vd
