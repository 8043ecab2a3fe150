// Every way a run can end: success, a breach, a deadlock, a crash, the time limit.
//
// The report is one JSON object on standard output. The process exists for one run only, so ending it
// on the spot is the simplest way to stop all fibers and threads at once.
#include <pthread.h>
#include <sys/mman.h>

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "complaints.h"
#include "dump.h"
#include "machine.h"
#include "report_text.h"

namespace vd {
namespace {

constexpr uint32_t kMaxRunning = 256;
constexpr const char* kRoleNames[kRoles + 1] = {"reader", "compute", "writer", "other kernel"};

// Cores that run now, for the time limit's report. Written once per thread.
Core* volatile running[kMaxRunning];
volatile uint32_t running_count = 0;
pthread_mutex_t ending = PTHREAD_MUTEX_INITIALIZER;

Text text;

void place(const Core* at, const Fiber* which) {
    text.raw("\"core\":[");
    text.number(at->x);
    text.raw(",");
    text.number(at->y);
    text.raw("],");
    text.field("role", kRoleNames[static_cast<uint32_t>(which->role)]);
    text.raw(",");
    text.field("line", which->line);
}

void open(const char* status, const char* category, const char* message) {
    text.raw("{");
    text.field("status", status);
    text.raw(",");
    text.field("category", category);
    text.raw(",");
    text.field("message", message);
    text.raw(",");
    text.field("launch", device.launch_index);
    if (device.seed != 0) {
        text.raw(",");
        text.field("seed", device.seed);
    }
}

// Breaches that the user has allowed.
void list_warnings() {
    uint32_t listed = 0;
    text.raw(",\"warnings\":[");
    for (const Complaint& one : complaints()) {
        text.raw(listed++ ? ",{" : "{");
        text.field("category", one.category);
        text.raw(",");
        text.field("message", one.message);
        text.raw(",");
        text.field("launch", one.launch);
        text.raw(",");
        text.field("times", one.times);
        text.raw(",\"core\":[");
        text.number(one.x);
        text.raw(",");
        text.number(one.y);
        text.raw("],");
        text.field("role", kRoleNames[static_cast<uint32_t>(one.role)]);
        text.raw(",");
        text.field("line", one.line);
        text.raw("}");
    }
    text.raw("]");
}

[[noreturn]] void stop_here(const char* status, const char* category, const char* message, bool crashed = false) {
    pthread_mutex_lock(&ending);  // the first complaint is reported; others wait here for the end
    open(status, category, message);
    if (core && fiber) {
        if (!crashed) finish_print(*fiber);
        text.raw(",");
        place(core, fiber);
        if (!crashed) put_state(text);  // what crashed once may crash again
    }
    list_warnings();
    text.raw("}");
    text.send(2);
}

// Unpack and pack go through the text by themselves, so compute may have been meant to do this itself.
const char* advice_to_compute(const Fiber& which, Role other, const char* advice) {
    const bool own = which.role == Role::Compute && (other == Role::Compute || other == Role::Any);
    return own ? advice : "";
}

void describe_wait(const Core& at, const Fiber& which, char* out, std::size_t size) {
    const CbConfig& config = at.group->cbs[which.wait_cb];
    const CbState& state = at.cbs[which.wait_cb];
    const uint64_t held = state.pushed - state.popped;
    if (which.wait == Wait::Arrival) {
        std::snprintf(out, size, "waits in a barrier for its transfers");
    } else if (which.wait == Wait::Mail || which.wait == Wait::Mailbox) {
        describe_mail_wait(which, out, size);
    } else if (which.wait == Wait::SemaphoreEqual || which.wait == Wait::SemaphoreMin) {
        describe_semaphore_wait(at, which, out, size);
    } else if (which.wait == Wait::Reserve) {
        std::snprintf(
            out, size,
            "waits in cb_reserve_back for %u free pages of CB %u '%s': %llu of %u are free, the %s has to pop%s",
            which.wait_pages, which.wait_cb, config.name, static_cast<unsigned long long>(config.pages - held),
            config.pages, kRoleNames[static_cast<uint32_t>(state.consumer)],
            advice_to_compute(which, state.consumer, "; no pop of its own that it can come to makes room"));
    } else {
        std::snprintf(out, size,
                      "waits in cb_wait_front for %u pages of CB %u '%s': %llu are there, the %s has to push%s",
                      which.wait_pages, which.wait_cb, config.name, static_cast<unsigned long long>(held),
                      kRoleNames[static_cast<uint32_t>(state.producer)],
                      advice_to_compute(which, state.producer, "; it comes to no push of its own"));
    }
}

void list_fibers(Core* const* cores, uint32_t count) {
    constexpr uint32_t kListed = 420;  // fibers named in one report: a whole chip
    uint32_t listed = 0;
    text.raw(",\"fibers\":[");
    for (uint32_t i = 0; i < count && listed < kListed; ++i) {
        for (const Fiber& which : cores[i]->fibers) {
            if (!which.live || listed == kListed) continue;
            char note[320] = "runs";
            if (which.wait != Wait::None) describe_wait(*cores[i], which, note, sizeof note);
            text.raw(listed++ ? ",{" : "{");
            place(cores[i], &which);
            text.raw(",");
            text.field("state", note);
            text.raw("}");
        }
    }
    text.raw("]");
}

// Nothing is mapped there. Addresses near 0 are null pointers, and those above L1 are no addresses of L1.
void refuse_address_outside_l1(uintptr_t at) {
    constexpr uintptr_t kNullPointers = 4096;
    if (!core || !fiber || at < kNullPointers || at >= kAboveL1) return;
    const uintptr_t base = reinterpret_cast<uintptr_t>(core->l1), end = base + device.l1_window;
    if (at >= base && at < end) return;
    char message[200];
    std::snprintf(message, sizeof message, "after this line the kernel uses address 0x%llx through a pointer, which is not in "
                  "the L1 of its core: that is from 0x%llx to 0x%llx", static_cast<unsigned long long>(at),
                  static_cast<unsigned long long>(base), static_cast<unsigned long long>(end - 1));
    stop_here("breach", "l1-bounds", message, true);
}

void on_crash(int signal, siginfo_t* info, void*) {
    if (signal == SIGSEGV || signal == SIGBUS) refuse_address_outside_l1(reinterpret_cast<uintptr_t>(info->si_addr));
    const char* what = signal == SIGSEGV  ? "segmentation fault"
                       : signal == SIGBUS ? "bus error"
                       : signal == SIGFPE ? "arithmetic fault, for example an integer division by zero"
                       : signal == SIGILL ? "illegal instruction"
                                          : "abort";
    char message[160];
    if (signal == SIGSEGV || signal == SIGBUS) {
        std::snprintf(message, sizeof message, "%s at address 0x%llx", what,
                      static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(info->si_addr)));
    } else {
        std::snprintf(message, sizeof message, "%s", what);
    }
    stop_here("crash", "crash", message, true);
}

void on_time_limit(int) {
    if (pthread_mutex_trylock(&ending) != 0) return;
    open("hang", "hang", "the time limit has passed");
    list_fibers(const_cast<Core* const*>(running), running_count);
    list_warnings();
    text.raw("}");
    text.send(2);
}

}  // namespace

#undef breach
#undef complain
void complain(const char* category, const char* format, ...) {
    char message[1024];
    va_list args;
    va_start(args, format);
    std::vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (!is_allowed(category)) stop_here("breach", category, message);
    note_complaint(category, message);
}

void breach(const char* category, const char* format, ...) {
    char message[1024];
    va_list args;
    va_start(args, format);
    std::vsnprintf(message, sizeof message, format, args);
    va_end(args);
    stop_here("breach", category, message);
}

void undefined(const char* format, ...) {
    char message[1024];
    va_list args;
    va_start(args, format);
    std::vsnprintf(message, sizeof message, format, args);
    va_end(args);
    stop_here("undefined", "undefined", message);
}

void depends_on_data(const char* format, ...) {
    char message[512];
    va_list args;
    va_start(args, format);
    std::vsnprintf(message, sizeof message, format, args);
    va_end(args);
    stop_here("data", "data", message);
}

void crash(const char* message) { stop_here("crash", "crash", message, true); }

void broken_input(const char* format, ...) {
    char message[1024];
    va_list args;
    va_start(args, format);
    std::vsnprintf(message, sizeof message, format, args);
    va_end(args);
    core = nullptr;
    stop_here("input", "input", message);
}

void report_deadlock(Core* const* cores, uint32_t count) {
    pthread_mutex_lock(&ending);
    open("deadlock", "deadlock", "no kernel can go on");
    list_fibers(cores, count);
    list_warnings();
    text.raw("}");
    text.send(2);
}

// The most memory this process has used, tensors included. (getrusage would count the parent's, from before exec.)
static uint64_t peak_bytes() {
    std::FILE* status = std::fopen("/proc/self/status", "r");
    if (status == nullptr) return 0;
    char line[128];
    unsigned long long kib = 0;
    while (std::fgets(line, sizeof line, status) != nullptr && std::sscanf(line, "VmHWM: %llu", &kib) != 1) {
    }
    std::fclose(status);
    return kib * 1024;
}

void report_success(const Statistics& total, double seconds, uint32_t cores_used) {
    char time[64];
    std::snprintf(time, sizeof time, "%.6f", seconds);
    text.raw("{\"status\":\"ok\",\"seconds\":");
    text.raw(time);
    text.raw(",\"statistics\":{");
    const struct {
        const char* name;
        uint64_t value;
    } rows[] = {{"noc_read_bytes", total.noc_read_bytes}, {"noc_write_bytes", total.noc_write_bytes},
                {"tile_products", total.tile_products},   {"tiles_packed", total.tiles_packed},
                {"tiles_unpacked", total.tiles_unpacked}, {"sfpu_tiles", total.sfpu_tiles},
                {"fiber_switches", total.switches},       {"cores_used", cores_used},
                {"peak_bytes", peak_bytes()}};
    for (const auto& row : rows) {
        if (row.name != rows[0].name) text.raw(",");
        text.field(row.name, row.value);
    }
    text.raw("}");
    if (!clock_reports().empty()) {
        text.raw(",\"clock\":");
        text.write_out();
        text.write_out(clock_reports().text(), clock_reports().size());
        text.raw("]");
    }
    list_warnings();
    text.raw("}");
    text.send(0);
}

void register_running(Core* started) {
    pthread_mutex_lock(&ending);
    if (running_count < kMaxRunning) {
        running[running_count] = started;
        running_count = running_count + 1;
    }
    pthread_mutex_unlock(&ending);
}

void install_thread_signal_stack() {
    constexpr std::size_t kSignalStack = 64 * 1024;
    stack_t stack{};
    stack.ss_sp = mmap(nullptr, kSignalStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack.ss_size = kSignalStack;
    sigaltstack(&stack, nullptr);
}

void install_signal_handlers() {
    struct sigaction action{};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
    struct sigaction limit{};
    limit.sa_handler = on_time_limit;
    limit.sa_flags = SA_ONSTACK;
    sigaction(SIGALRM, &limit, nullptr);
}

}  // namespace vd

extern "C" void vd_assert_failed(const char* condition, uint32_t line) {
    vd::begin(line);
    vd::breach("assert", "an assertion does not hold: %s", condition);
}

extern "C" void vd_unimplemented(const char* name, uint32_t line) {
    vd::begin(line);
    char message[256];
    std::snprintf(message, sizeof message, "unimplemented: %s", name);
    vd::stop_here("unimplemented", "unimplemented", message);
}
