// The state of the virtual device while it runs: cores, circular buffers, fibers; and the functions between its files.
//
// Machinery only; what an operation means is in its own file (matmul.cpp, binary.cpp, sfpu.cpp,
// typecast.cpp ...). A worker thread runs one core at a time; `core` and `fiber` below say which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "clock/event.h"
#include "engine_state.h"
#include "growing_text.h"
#include "launch.h"
#include "stamp.h"

namespace vd {

// State of one CB page beyond its bytes.
struct Page {
    uint32_t landed = 0;   // bytes that NoC transfers brought since the page was free
    bool stored = false;   // to by a kernel through a pointer since the page was free
    std::vector<bool> blocks;  // of kMarkBytes, where a pointer stored or elements of a flat tensor landed since then
    bool written = false;  // holds a value that the packer may add to
    bool packed = false;   // packed and not yet pushed
    bool in_part = false;   // packed by a tile that begins inside the page before it
    uint32_t overwrite_calls = 0;  // Engine::overwrite_calls when it was packed
    uint32_t packed_line = 0;
    uint32_t freed_in = 0;  // DST section in which a buffer of compute's own was popped
    bool pushed = false;    // and not reserved again: its producer may still read what it wrote
    bool popped = false;    // and not reserved again
    uint32_t unwritten_line = 0;  // of the push that published it unwritten; 0: it was written
    bool stale = false;     // reserved in a later section than popped, or inside one: what it holds was given up
    uint32_t lossy_before = 0;  // Engine::lossy_sections when it was reserved
    bool packed_as_set = false;  // accumulation was switched (on or off) for its buffer when it was packed
};

struct CbState {
    uint64_t pushed, popped;
    uint32_t write_page, read_page;  // 0 .. pages-1
    uint32_t back_page;              // the page that the next push publishes: `write_page`, unless that pointer was moved
    bool held;                       // the write pointer was moved: pages that compute has published may be packed again
    int32_t stray_read, stray_write;  // pages by which a pointer that was moved lies outside the buffer; 0: it does not
    uint32_t read_shift, write_shift;  // bytes by which it lies behind the beginning of its page
    uint32_t reserved, waited;       // pages granted and not yet pushed / popped
    uint64_t sure;                   // pages that must have been pushed, since a wait has seen the last push of them
    std::vector<uint64_t> push_ends;  // `pushed` after each push whose pages are not all popped
    uint32_t pack_cursor;            // next page of sequential packing
    Role producer, consumer;         // as configured, else the first kernel that acts as one
    bool scratch;                    // used as plain memory: no protocol call may follow
    uint32_t scratch_line;
    bool moved;                      // its read pointer was set: what lies there need not have been pushed
    bool prefilled;                  // with zeros, before the first reserve: what later pages do not overwrite counts
    uint32_t own_wait;               // pages that its producer, a data movement kernel, has waited for itself
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
    bool elements = false;  // a read from a flat tensor
};

enum class Wait : uint8_t { None, Reserve, Front, SemaphoreEqual, SemaphoreMin, Arrival, Mail, Mailbox };

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

// A read of a semaphore of another core that the clock has not heard of yet: if the same read follows, both are one.
struct HeldPoll {
    timing::Event read, barrier;
    bool held = false, awaited = false;
};

struct Core;

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
    uint32_t wait_from = 0, wait_to = 0;          // of mail
    uint32_t wait_noc = 0;                        // of a barrier
    int32_t wait_trid = kAnyTrid;
    bool wait_atomics = false;
    bool arguments_placed[2] = {};                // its own and the common ones stand in L1, where it may change them
    bool polling = false;                         // gave way inside a loop that looks again
    uint8_t waiting = 0;                          // processors of compute for which calls are kept (kept.h)
    bool carrying = false;                        // now carried out
    bool at_a_stand = false;                      // the text cannot go on before some of them are
    bool others_wait = false;                     // for compute, at a buffer: it goes on, and keeps the call
    uint32_t noted = 0;                           // events for the clock
    uint64_t scalar_cycles = 0;                   // of scalar code since the last event
    uint32_t vectors = 0;                         // operations of SFPI code since the last event
    HeldPoll poll;                                // the last thing it did, for the clock
    const Core* looks_at = nullptr;               // a semaphore of which it reads, until the barrier
    uint32_t looks_offset = 0;
    bool page_address = false;                    // the last address was computed from the number of a page
    uint32_t unacknowledged[kNocs][kTrids] = {};  // line of a write that no barrier has awaited
    uint32_t linked_line[kNocs] = {};             // of a linked multicast that has no successor yet
    uint32_t flushes = 0;  // what is issued after a flush stays behind what was issued before it
    uint32_t read_trid[kNocs] = {}, write_trid[kNocs] = {};
    CommandState states[kNocs][kCommands];
    std::vector<uint8_t> globals;  // those of its kernel while another fiber runs
    GrowingText printed;           // a line that is not finished yet
    uint32_t printed_line = 0;     // where it began
};

// What came to a semaphore since its own core last set it.
struct SemaphoreLog {
    std::vector<uint16_t> signals;   // indices of the cores that sent something, in order of arrival
    uint32_t changes = 0;            // since the launch began
    std::vector<uint32_t> unseen;    // values that it no longer has, since its own core set it or waited for it
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
    std::vector<Mail> mail[kMailProcessors][kMailProcessors];  // [from][to]
    Engine engine;
    Statistics statistics;
    void* scheduler_sp;
    StackNotes scheduler_notes;
    bool stirred;  // a kernel of it ran, or something landed here: what its kernels wait for may have come
};

struct Device {
    Chip chip;
    bool exact;     // `exact` numerics
    bool bit_true;  // `chip` numerics
    bool numberless;  // timing only: tiles are not computed, and most bytes not moved
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

// Without numbers only short messages are carried: flags and counts, which kernels look at.
constexpr uint32_t kShortMessage = 64;  // bytes
inline bool carries(uint32_t bytes) { return !device.numberless || bytes <= kShortMessage; }

}  // namespace vd
// Scalar code that is timed adds up its cycles here (runtime/counted.py).
extern "C" thread_local uint64_t vd_scalar_cycles;
namespace vd {

inline void collect_scalar_cycles() {
    if (vd_scalar_cycles == 0) return;
    fiber->scalar_cycles += vd_scalar_cycles;
    vd_scalar_cycles = 0;
}

// Called first by every device function: remembers where the kernel is.
inline void begin(uint32_t line) {
    fiber->line = line;
    collect_scalar_cycles();
}

// The same, for what compute needs at once, with all that stands before it: nothing stays kept (kept.h).
void catch_up(uint32_t line);
inline void enter(uint32_t line) {
    begin(line);
    if (fiber->waiting != 0) catch_up(line);
}

inline uint32_t l1_offset(uint32_t address) { return address & (device.l1_window - 1); }
inline uint32_t l1_address(uint32_t offset) {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(core->l1)) + offset;
}

const char* format_name(DataFormat format);

// ---- report.cpp: every way a run can end -----------------------------------------------------------
[[noreturn]] void breach(const char* category, const char* format, ...) __attribute__((format(printf, 2, 3)));
// A breach after which the run can go on: returns if the user has allowed its category (device/strictness.py).
void complain(const char* category, const char* format, ...) __attribute__((format(printf, 2, 3)));
#ifdef VD_UNCHECKED  // `make bench` measures what checks cost: the compiler drops whatever leads to a breach
#define breach(...) __builtin_unreachable()
#define complain(...) __builtin_unreachable()
#endif
[[noreturn]] void undefined(const char* format, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void depends_on_data(const char* format, ...) __attribute__((format(printf, 1, 2)));  // a run without any
[[noreturn]] void crash(const char* message);
[[noreturn]] void broken_input(const char* format, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void report_deadlock(Core* const* cores, uint32_t count);
void report_success(const Statistics& total, double seconds, uint32_t cores_used);
void install_signal_handlers();
void guard_process();  // against what kernels may do to it
void install_thread_signal_stack();
void register_running(Core* running);

// ---- print.cpp -------------------------------------------------------------------------------------
void finish_print(Fiber& which);  // a line without an end

// ---- fiber.cpp -------------------------------------------------------------------------------------
void prepare_fiber(Fiber& fiber);
void resume_fiber(Core& core, Fiber& fiber);
void yield_to_scheduler();

// ---- globals.cpp -----------------------------------------------------------------------------------
void find_globals(void* library, KernelConfig& kernel);
void put_globals(const KernelConfig& kernel, const Fiber& fiber);
void keep_globals(const KernelConfig& kernel, Fiber& fiber);

// ---- scheduler.cpp ---------------------------------------------------------------------------------
void run_launch();
Statistics total_statistics();
Core* grid_core(uint32_t index);  // of a connected launch; its L1 stays its own
constexpr uintptr_t kAboveL1 = uintptr_t{1} << 32;  // the L1 of all cores lies below, everything else of this process above
bool in_some_l1(uintptr_t address);  // whether the L1 of a core lies at this address of the host
void reset_core(Core& at, uint32_t index);
bool can_run(const Core& at, const Fiber& which);
bool chance(uint32_t one_in);   // always false without a seed
uint32_t pick(uint32_t below);  // a seeded choice
void poll();                    // lets others run; called where kernels look again and again
void maybe_give_way();          // a seeded schedule switches here now and then

// ---- grid.cpp: launches whose cores talk to each other ---------------------------------------------
void begin_grid();       // every core of the launch lives, in an L1 of its own
bool run_grid_round();   // false: all have ended
void end_grid();
void run_connected();
void run_for_clock();    // a run without numbers, whose events are replayed as they come
struct Place {
    uint32_t x, y;
};
Place noc_place(uint32_t x, uint32_t y);             // virtual NoC coordinates of a core of the chip
bool is_worker(uint32_t noc_x, uint32_t noc_y, Place& at);
Core* core_at_noc(uint32_t noc_x, uint32_t noc_y);  // null: no core of this launch
uint32_t max_packet();                               // bytes of one NoC packet

// ---- kept.cpp ----------------------------------------------------------------------------------------
bool can_carry_out(const Core& at, const Fiber& compute);       // a call that was kept
bool let_compute_go_on(Core* const* cores, uint32_t count);  // when nobody can: to what else its text has for the others

// ---- mailbox.cpp -----------------------------------------------------------------------------------
bool mailboxes_have_room(const Core& at, uint32_t from);
bool has_mail(const Core& at, uint32_t from, uint32_t to);
void describe_mail_wait(const Fiber& which, char* out, std::size_t size);
void check_mail_at_end();

// ---- circular_buffer.cpp ---------------------------------------------------------------------------
void require_cb_id(uint32_t cb);
const CbConfig& cb_config(uint32_t cb);  // the program must have it
bool cb_has_room(const Core& core, uint32_t cb, uint32_t pages);
bool cb_has_data(const Core& core, uint32_t cb, uint32_t pages);
constexpr uint32_t kAllRows = ~0u;
const uint8_t* readable_tile(uint32_t cb, uint32_t tile, uint32_t row = kAllRows);  // of which that row is used
bool is_back(uint32_t cb, uint32_t page);  // reserved, counted from the page that the next push publishes
uint32_t pointer_offset(uint32_t cb, bool reads);  // in L1; where the pointer stands, between pages too
void refuse_stray(uint32_t cb, bool reads);  // a pointer that was left outside its buffer cannot be used
void wait_for_pushed(uint32_t cb);  // compute was told in another way that what is pushed may be read
uint8_t* packable_tile(uint32_t cb, uint32_t tile, uint32_t& page);
UnwrittenPage unwritten_page(uint32_t cb, uint32_t tile);  // `pushed_line` 0: it was written
void refuse_unwritten(const UnwrittenPage& page);  // a complaint
// The CB page at an L1 offset, or false when the offset lies in no CB.
struct CbSpan {
    uint32_t cb, first_page, last_page;
};
bool find_cb(uint32_t offset, uint32_t bytes, CbSpan& span);
bool is_scratch(const CbSpan& span);  // a CB without protocol calls is plain memory; this use makes it so
bool is_reserved(const CbSpan& span);
bool is_own_push(const CbSpan& span);     // pushed by this kernel, and not reserved again since
bool is_before_use(const CbSpan& span);   // this kernel may be its producer, and has not reserved anything yet
void require_published(const CbSpan& span, uint32_t offset, uint32_t bytes);  // its bytes were written before the push
bool is_waited(const CbSpan& span);
bool is_past_wrap(uint32_t offset, uint32_t& cb);  // where reserved pages would be without a wrap
void note_landed(uint32_t offset, uint32_t bytes);
void note_stored(const CbSpan& span, uint32_t offset, uint32_t bytes);
void note_elements(uint32_t offset, uint32_t bytes);  // they landed
// Whether a value came to the block of kMarkBytes at an offset in the way of the two above. What it holds says less: an
// element of few bytes may have the value of L1 that was never written.
bool has_element(const CbSpan& span, uint32_t offset);
void check_cbs_at_end();

// ---- kernel_view.cpp -------------------------------------------------------------------------------
bool in_arguments(uint32_t offset, uint32_t bytes);  // where runtime arguments lie in L1

// ---- tensor.cpp ------------------------------------------------------------------------------------
// The tensor whose bytes lie at an address of a bank, with the page there; nullptr when none does.
Tensor* tensor_at(bool dram, uint32_t bank, uint64_t address, uint32_t& page);
const Tensor* tensor_in_l1(uint32_t bank, uint32_t address, uint32_t bytes);  // one that lies there in part, or null
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
uint64_t place_in_tensor(const Span& far);  // in bytes, as if its pages followed each other
void require_aligned(const Span& far, uint32_t l1, bool read);
void require_length(uint32_t bytes, bool one_packet);
void require_readable(uint32_t offset, uint32_t bytes, bool elements = false);
void require_landed(uint32_t offset, uint32_t bytes);  // what is sent on has been read
void require_unlinked(uint32_t noc);  // no unicast between a linked multicast and its successor
void require_known_l1(const Core& at, uint32_t offset, uint32_t bytes);
void forget_transfers(Fiber& which);
void check_noc_at_end();
void forget_page_users();  // before a launch
bool overlaps_pending(const std::vector<Transfer>& transfers, uint32_t offset, uint32_t bytes, uint32_t& line);

// ---- noc_flight.cpp: writes and atomics between issue and arrival, in connected launches -------------
enum class Arrival : uint8_t { Write, Add, Word };
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
    bool linked;  // a multicast whose path stays reserved for the next one
    std::vector<uint8_t> data;  // once departed
    Stamp order;                // what the sender knew
};
void launch_flight(Flight flight);
bool land_any();  // false: nothing is under way
void land_now_and_then();
void depart_all(const Fiber& owner, uint32_t noc, int32_t trid);
void land_own_copies(const Fiber& owner, uint32_t noc, int32_t trid);
bool is_flying_from(const Fiber& owner, const uint8_t* from, uint32_t bytes);
void depart_from(const uint8_t* from, uint32_t bytes);  // before a mark is written there
void leave_in_time(uint32_t offset, uint32_t bytes);    // an allowed breach: luck has it that these bytes are gone already
bool awaits(const Fiber& owner);  // whether what its barrier waits for is under way
bool atomics_under_way(const Fiber& owner, uint32_t& line);
bool signal_under_way(const Core& at, uint32_t offset, uint32_t& line, Core*& who);
bool write_under_way(const uint8_t* from, uint32_t bytes, uint32_t& line, Core*& who);
void forget_flights();

// ---- semaphore.cpp ---------------------------------------------------------------------------------
bool is_semaphore(const Core& at, uint32_t offset, uint32_t bytes);
uint32_t semaphore_changes(const Core& at, uint32_t offset);  // since the launch began
void forget_signals(Core& at);
bool semaphore_passes(const Core& at, const Fiber& which);
void note_signal(const Flight& flight, uint32_t before);
void describe_semaphore_wait(const Core& at, const Fiber& which, char* out, std::size_t size);

// ---- engine.cpp ------------------------------------------------------------------------------------
void reset_engine();
void check_engine_at_end();
void reset_dst();
void check_dst_at_end();
void require_started(const char* what);
void require_math(const char* what);  // DST acquired and not yet committed
void require_pack(const char* what);  // DST waited for and not yet released
void require_free_dst(const char* what);
bool has_free_section(const Core& at);
void mark_written(uint32_t dst);      // by something else than a reduction
// While it lives, the section that the packer holds is the one that is looked at.
class PackView {
public:
    PackView() { swap(); }
    ~PackView() { swap(); }
    PackView(const PackView&) = delete;
    PackView& operator=(const PackView&) = delete;

private:
    static void swap() {
        Engine& engine = core->engine;
        if (!engine.earlier.empty()) std::swap(engine.section, engine.earlier.front());
    }
};
Tile& dst_tile(uint32_t index);
Tile& written_dst_tile(uint32_t index, const char* what);
// Operands that are used row by row: of one in `FirstRow` the result is, too.
Tile& dst_rows(uint32_t index, const char* what);
const UnwrittenPage* first_row_alone(uint32_t index);
void mark_first_row(uint32_t index, const UnwrittenPage& page);
void require_srca(uint32_t cb, const char* what);
void require_srcb(uint32_t cb, const char* what);
void require_order(bool reversed, const char* what);
const char* family_name(Family family);
void begin_family(Family family, const char* init);  // an init: refuses while another operation wants its uninit
void require_family(Family wanted, const char* what, const char* init);
void require_same_route(uint32_t cb, const char* what, const char* init);   // operand of a copy: as that of its init
void require_same_format(uint32_t cb, const char* what, const char* init);  // operand of a tilize: as that of its init
void require_source_operand(uint32_t cb, const char* what);  // an operand of the matrix engine
void require_wide_dst(DataFormat format, const char* what);  // 32-bit integers need a 32-bit DST
bool is_integer(DataFormat format);
bool is_32bit_integer(DataFormat format);

// ---- move.cpp --------------------------------------------------------------------------------------
// A tile on its way through a source register, or one row of it: the others may be anything.
void load_operand(uint32_t cb, uint32_t tile, Tile& out, uint32_t row = kAllRows);
void broadcast_in_place(Broadcast broadcast, uint32_t row, Tile& tile);  // binary.cpp
bool goes_to_dst(uint32_t cb);  // all bits reach DST: integers, and unpack-to-DST buffers
void check_packer(uint32_t cb, const char* what, bool reduced = false);  // reduced: what a reduction left is packed
void mark_packed(Page& page);
void store_tile(uint32_t cb, const Tile& tile, bool accumulate, uint8_t* page);

// ---- integers.cpp ----------------------------------------------------------------------------------
void unpack_integers(DataFormat format, const uint8_t* page, Tile& out);
void pack_integers(DataFormat format, const Tile& tile, uint8_t* page);

}  // namespace vd

#include "timed.h"  // every function that kernels call notes what it does
