// What kernels share with the runner besides memory: its standard output, its end, its descendants.
//
// A kernel is a program of the user's that runs inside this process. What it prints belongs to the user, the report goes to
// a descriptor of its own; where it ends the process or starts another one, that is reported; and it may not take the
// memory that other processes of the machine have.
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "machine.h"
#include "report_text.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VD_SANITIZED 1  // takes terabytes of addresses
#endif

namespace vd {
namespace {

constexpr int kReportDescriptor = 100;  // or higher: what a kernel opens and closes lies below

void refuse_exit() { crash("a kernel ends the process: exit"); }
void refuse_fork() { crash("a kernel starts another process: fork"); }

void keep_output_apart() {
    report_descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kReportDescriptor);
    if (report_descriptor < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) broken_input("cannot set the report apart");
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
}

// Where memory runs out, this process is the one to end, not the Python that waits for it.
void be_first_to_end() {
    std::FILE* const score = std::fopen("/proc/self/oom_score_adj", "w");
    if (score == nullptr) return;
    std::fputs("1000", score);
    std::fclose(score);
}

// Allocations fail before the machine is out of memory.
void limit_memory() {
#if !defined(VD_SANITIZED)
    constexpr unsigned long long kLeast = 4ull << 30;  // mostly addresses: stacks, and L1 that nobody touches
    std::FILE* const info = std::fopen("/proc/meminfo", "r");
    if (info == nullptr) return;
    char line[128];
    unsigned long long kib = 0;
    while (std::fgets(line, sizeof line, info) != nullptr && std::sscanf(line, "MemAvailable: %llu", &kib) != 1) {
    }
    std::fclose(info);
    if (kib == 0) return;
    rlimit limit{};
    getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, std::max(kib << 10, kLeast));
    setrlimit(RLIMIT_DATA, &limit);
#endif
}

}  // namespace

int report_descriptor = STDOUT_FILENO;

void guard_process() {
    keep_output_apart();
    be_first_to_end();
    limit_memory();
    std::atexit(refuse_exit);
    std::at_quick_exit(refuse_exit);
    pthread_atfork(refuse_fork, nullptr, nullptr);
}

}  // namespace vd
