// The state of the virtual device: chip, launch, core, circular buffers, fibers, compute engine.
//
// Machinery only; what an operation means stands in its own file (matmul.cpp, binary.cpp, sfpu.cpp,
// formats.cpp). A worker thread runs one core at a time; `core` and `fiber` below say which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "vd/abi.h"
#include "vd/ops.h"
#include "vd/sfpi_abi.h"

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
constexpr uint32_t kDramRow = 63;  // y coordinate that stands for "DRAM bank x"

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
    uint32_t address = 0, page_bytes = 0, pages = 0;
    uint32_t banks = 0, slots = 0;  // sharded: slots of every bank
    uint8_t* bytes = nullptr;       // DRAM only
    uint8_t* marks = nullptr;       // one byte per page: set when a kernel writes it
    std::vector<uint32_t> place_of;  // sharded: bank * slots + slot of each page
    std::vector<uint32_t> page_at;   // sharded: the inverse, kNoPage where no page lies
    // Per page, who touched it in this launch: 0, a core's index + 1, or kManyCores.
    std::vector<uint8_t> readers, writers;

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

// State of one CB page beyond its bytes.
struct Page {
    uint32_t landed = 0;   // bytes that NoC transfers brought since the page was free
    bool stored = false;   // to by a kernel through a pointer since the page was free
    bool written = false;  // holds a value that the packer may add to
    bool packed = false;   // packed and not yet pushed
    uint32_t overwrite_calls = 0;  // Engine::overwrite_calls when it was packed
    uint32_t packed_line = 0;
    uint32_t freed_in = 0;  // DST section in which a buffer of compute's own was popped
    uint32_t unwritten_line = 0;  // of the push that published it unwritten; 0: it was written
    bool stale = false;     // reserved in a later section than popped: what it holds was given up
    bool packed_as_set = false;  // accumulation was switched (on or off) for its buffer when it was packed
};

struct CbState {
    uint64_t pushed, popped;
    uint32_t write_page, read_page;  // 0 .. pages-1
    uint32_t reserved, waited;       // pages granted and not yet pushed / popped
    uint64_t sure;                   // pages that must have been pushed, since a wait has seen the last push of them
    std::vector<uint64_t> push_ends;  // `pushed` after each push whose pages are not all popped
    uint32_t pack_cursor;            // next page of sequential packing
    Role producer, consumer;         // as configured, else the first kernel that acts as one
    bool scratch;                    // used as plain memory: no protocol call may follow
    uint32_t scratch_line;
    uint32_t taken_line;             // where a kernel took the shard under this buffer without waiting; 0: nowhere
    std::vector<Page> pages;
};

constexpr uint32_t kNocs = 2;
constexpr uint32_t kTrids = 16;  // NOC_MAX_TRANSACTION_ID + 1
constexpr int32_t kAnyTrid = -1;

// One NoC transfer under way, as its issuer sees it: `l1_offset` is the near end.
struct Transfer {
    uint8_t* target;
    const uint8_t* source;
    uint32_t l1_offset, bytes, line;
    uint8_t noc = 0, trid = 0;
    bool posted = false;
};

enum class Wait : uint8_t { None, Reserve, Front, SemaphoreEqual, SemaphoreMin, Arrival };

// What *_set_state leaves in a command buffer for *_with_state.
struct CommandState {
    uint64_t address = 0;
    uint32_t bytes = 0, value = 0;
    bool set = false;
};
constexpr uint32_t kCommands = 6;  // VD_STATE_*

// What a sanitizer must know of a stack to follow a switch to it; unused in an ordinary build.
struct StackNotes {
    void* handle = nullptr;
    void* fake = nullptr;
    const void* bottom = nullptr;
    std::size_t size = 0;
};

struct Fiber {
    Role role;
    bool live = false, started = false;
    void* stack = nullptr;
    void* stack_pointer = nullptr;
    StackNotes notes;
    uint32_t line = 0;  // of the last call into the device
    Wait wait = Wait::None;
    uint32_t wait_cb = 0, wait_pages = 0;
    std::vector<Transfer> reads, writes;
    uint32_t wait_offset = 0, wait_value = 0;     // of a semaphore
    uint32_t wait_noc = 0;                        // of a barrier
    int32_t wait_trid = kAnyTrid;
    bool wait_atomics = false;
    bool arguments_placed[2] = {};                // its own and the common ones stand in L1, where it may change them
    bool polling = false;                         // gave way inside a loop that looks again
    uint32_t unacknowledged[kNocs][kTrids] = {};  // line of a write that no barrier has awaited
    uint32_t linked_line[kNocs] = {};             // of a linked multicast that has no successor yet
    uint32_t flushes = 0;  // what is issued after a flush stays behind what was issued before it
    uint32_t read_trid[kNocs] = {}, write_trid[kNocs] = {};
    CommandState states[kNocs][kCommands];
    std::vector<uint8_t> globals;  // those of its kernel while another fiber runs
};

// Who changed a semaphore since its own core last set it.
struct SemaphoreLog {
    std::vector<uint16_t> signals;  // indices of cores, in order of arrival
};

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
enum class DstTile : uint8_t { Zero, Written, Reduced };

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
    bool packed;  // something of this DST section
    uint32_t sections;  // DST sections begun
    Tile* dst;
    Tile *srca_tiles, *srcb_tiles;  // unpacked operands of one call
};

struct Statistics {
    uint64_t noc_read_bytes, noc_write_bytes, tile_products, tiles_packed, tiles_unpacked, sfpu_tiles, switches;
};

struct Core {
    uint32_t index, x, y;  // index: among the cores of the launch
    const CoreGroup* group;
    const CoreConfig* config;
    uint8_t* l1;  // host address of L1 address 0; below 4 GiB, so kernels may hold pointers in 32 bits
    CbState cbs[kMaxCbs];
    Fiber fibers[kRoles];
    SemaphoreLog semaphores[kMaxSemaphores];
    Engine engine;
    Statistics statistics;
    void* scheduler_sp;
    StackNotes scheduler_notes;
};

struct Device {
    Chip chip;
    bool exact;     // `exact` numerics
    bool bit_true;  // `chip` numerics
    uint32_t l1_window;  // bytes of address space of one core's L1, a power of two
    uint32_t threads;
    double time_limit;
    uint64_t seed;       // of the schedule; 0: fixed order, every transfer as late as possible
    int memory;          // descriptor of the memory shared with Python
    uint64_t l1_shared;  // where the L1 of core 0 begins in it; the others follow at distances of l1_window
    uint32_t l1_heap;    // L1 from here to the end of the window is shared; 0: no tensor lies in L1
    uint8_t* l1_bytes;   // host address of l1_shared, nullptr without tensors in L1
    std::vector<Tensor> tensors;
    std::vector<Launch> launches;
    const Launch* launch;
    uint32_t launch_index;
};

extern Device device;
extern thread_local Core* core;
extern thread_local Fiber* fiber;

// Called first by every device function: remembers where the kernel is.
inline void enter(uint32_t line) { fiber->line = line; }

inline uint32_t l1_offset(uint32_t address) { return address & (device.l1_window - 1); }
inline uint32_t l1_address(uint32_t offset) {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(core->l1)) + offset;
}

const char* format_name(DataFormat format);

// ---- report.cpp: every way a run can end -----------------------------------------------------------
[[noreturn]] void breach(const char* category, const char* format, ...) __attribute__((format(printf, 2, 3)));
#ifdef VD_UNCHECKED  // `make bench` measures what checks cost: the compiler drops whatever leads to a breach
#define breach(...) __builtin_unreachable()
#endif
[[noreturn]] void undefined(const char* format, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void broken_input(const char* format, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void report_deadlock(Core* const* cores, uint32_t count);
void report_success(const Statistics& total, double seconds, uint32_t cores_used);
void install_signal_handlers();
void install_thread_signal_stack();
void register_running(Core* running);

// ---- fiber.cpp -------------------------------------------------------------------------------------
void prepare_fiber(Fiber& fiber);
void resume_fiber(Core& core, Fiber& fiber);

// globals.cpp
void find_globals(void* library, KernelConfig& kernel);
void put_globals(const KernelConfig& kernel, const Fiber& fiber);
void keep_globals(const KernelConfig& kernel, Fiber& fiber);
void yield_to_scheduler();

// ---- scheduler.cpp ---------------------------------------------------------------------------------
void run_launch();
Statistics total_statistics();
Core* grid_core(uint32_t index);  // of a connected launch; its L1 stays its own
void reset_core(Core& at, uint32_t index);
bool can_run(const Core& at, const Fiber& which);
bool chance(uint32_t one_in);   // always false without a seed
uint32_t pick(uint32_t below);  // a seeded choice
void poll();                    // lets others run; called where kernels look again and again
void maybe_give_way();          // a seeded schedule switches here now and then

// ---- grid.cpp: launches whose cores talk to each other ---------------------------------------------
void run_connected();
struct Place {
    uint32_t x, y;
};
Place noc_place(uint32_t x, uint32_t y);             // virtual NoC coordinates of a core of the chip
bool is_worker(uint32_t noc_x, uint32_t noc_y, Place& at);
Core* core_at_noc(uint32_t noc_x, uint32_t noc_y);  // null: no core of this launch
uint32_t max_packet();                               // bytes of one NoC packet

// ---- circular_buffer.cpp ---------------------------------------------------------------------------
const CbConfig& cb_config(uint32_t cb);
bool cb_has_room(const Core& core, uint32_t cb, uint32_t pages);
bool cb_has_data(const Core& core, uint32_t cb, uint32_t pages);
const uint8_t* readable_tile(uint32_t cb, uint32_t tile);
uint8_t* packable_tile(uint32_t cb, uint32_t tile, uint32_t& page);
// The CB page at an L1 offset, or false when the offset lies in no CB.
struct CbSpan {
    uint32_t cb, first_page, last_page;
};
bool find_cb(uint32_t offset, uint32_t bytes, CbSpan& span);
bool is_scratch(const CbSpan& span);  // a CB without protocol calls is plain memory; this use makes it so
bool is_reserved(const CbSpan& span);
void require_published(const CbSpan& span, uint32_t offset, uint32_t bytes);  // its bytes were written before the push
bool is_waited(const CbSpan& span);
bool is_past_wrap(uint32_t offset, uint32_t& cb);  // where reserved pages would be without a wrap
void note_landed(uint32_t offset, uint32_t bytes);
void note_stored(const CbSpan& span);
void check_cbs_at_end();

// ---- tensor.cpp ------------------------------------------------------------------------------------
// The tensor whose bytes lie at an address of a bank, with the page there; nullptr when none does.
Tensor* tensor_at(bool dram, uint32_t bank, uint64_t address, uint32_t& page);
uint8_t* shared_l1(uint32_t bank);  // host address of L1 address 0 of a core, valid in the shared part
void map_shared_l1(Core& at);       // put the shared part into the core's window

// ---- noc.cpp ---------------------------------------------------------------------------------------
struct Span {
    uint8_t* bytes = nullptr;
    uint32_t address = 0;  // within DRAM bank or L1
    bool dram = false;
    Tensor* tensor = nullptr;
    uint64_t page = 0;
    Core* at = nullptr;  // whose L1, when it is no tensor
};
Span far_end(uint64_t address, uint32_t bytes);
void require_aligned(const Span& far, uint32_t l1, bool read);
void require_length(uint32_t bytes, bool one_packet);
void require_readable(uint32_t offset, uint32_t bytes);
void require_landed(uint32_t offset, uint32_t bytes);  // what is sent on has been read
void require_unlinked(uint32_t noc);  // no unicast between a linked multicast and its successor
void require_known_l1(const Core& at, uint32_t offset, uint32_t bytes);
void forget_transfers(Fiber& which);
void check_noc_at_end();
void forget_page_users();  // before a launch
bool overlaps_pending(const std::vector<Transfer>& transfers, uint32_t offset, uint32_t bytes, uint32_t& line);

// ---- noc_flight.cpp: writes and atomics between issue and arrival, in connected launches -------------
enum class Arrival : uint8_t { Write, Add, Word };
using Clock = std::vector<uint32_t>;  // see order.h
using Stamp = std::shared_ptr<const Clock>;
struct Flight {
    Core* core;    // issuer
    Fiber* fiber;  // issuer
    Core* to;      // null: a tensor
    uint8_t* target;
    const uint8_t* source;
    uint32_t offset, bytes, line, flushes, value, mask;
    Arrival kind;
    uint8_t noc, trid, channel, buffer;
    bool posted, departed;
    std::vector<uint8_t> data;  // once departed
    Stamp order;                // what the sender knew
};
void launch_flight(Flight flight);
bool land_any();  // false: nothing is under way
void land_now_and_then();
void depart_all(const Fiber& owner, uint32_t noc, int32_t trid);
bool is_flying_from(const Fiber& owner, const uint8_t* from, uint32_t bytes);
void depart_from(const uint8_t* from, uint32_t bytes);  // before a mark is written there
bool awaits(const Fiber& owner);  // whether what its barrier waits for is under way
bool atomics_under_way(const Fiber& owner, uint32_t& line);
bool signal_under_way(const Core& at, uint32_t offset, uint32_t& line, Core*& who);
bool write_under_way(const uint8_t* from, uint32_t bytes, uint32_t& line, Core*& who);
void forget_flights();

// ---- semaphore.cpp ---------------------------------------------------------------------------------
bool is_semaphore(const Core& at, uint32_t offset, uint32_t bytes);
void forget_signals(Core& at);
bool semaphore_passes(const Core& at, const Fiber& which);
void note_signal(Core& at, uint32_t offset, const Core& from);
void describe_semaphore_wait(const Core& at, const Fiber& which, char* out, std::size_t size);

// ---- engine.cpp ------------------------------------------------------------------------------------
void reset_engine();
void check_engine_at_end();
void require_started(const char* what);
void require_math(const char* what);  // DST acquired and not yet committed
Tile& dst_tile(uint32_t index);
Tile& written_dst_tile(uint32_t index, const char* what);
void require_srca(uint32_t cb, const char* what);
void require_srcb(uint32_t cb, const char* what);
void require_order(bool reversed, const char* what);
const char* family_name(Family family);
void begin_family(Family family, const char* init);  // an init: refuses while another operation wants its uninit
void require_family(Family wanted, const char* what, const char* init);
void require_source_operand(uint32_t cb, const char* what);  // an operand of the matrix engine
void require_wide_dst(DataFormat format, const char* what);  // 32-bit integers need a 32-bit DST
bool is_integer(DataFormat format);
bool is_32bit_integer(DataFormat format);

// ---- move.cpp --------------------------------------------------------------------------------------
void load_operand(uint32_t cb, uint32_t tile, Tile& out);  // a tile on its way through a source register
void broadcast_in_place(Broadcast broadcast, uint32_t row, Tile& tile);  // binary.cpp
bool goes_to_dst(uint32_t cb);  // all bits reach DST: integers, and unpack-to-DST buffers
void check_packer(uint32_t cb, const char* what);
void mark_packed(Page& page);
void store_tile(uint32_t cb, const Tile& tile, bool accumulate, uint8_t* page);

// ---- integers.cpp ----------------------------------------------------------------------------------
void unpack_integers(DataFormat format, const uint8_t* page, Tile& out);
void pack_integers(DataFormat format, const Tile& tile, uint8_t* page);

}  // namespace vd
