// The runner: reads a run description, loads the kernels, runs the launches, reports.
//
// The description is a text of words on standard input; runtime/description.py writes it from the plan and says
// what each line holds.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "chip_library.h"
#include "complaints.h"
#include "machine.h"

using namespace vd;

const chip::Library* chip::library;

namespace {

struct Words {
    char* at;

    const char* text() {
        while (*at == ' ' || *at == '\n') ++at;
        if (!*at) return nullptr;
        char* start = at;
        while (*at && *at != ' ' && *at != '\n') ++at;
        if (*at) *at++ = 0;
        return start;
    }
    bool skip(char mark) {
        while (*at == ' ' || *at == '\n') ++at;
        if (*at != mark) return false;
        ++at;
        return true;
    }
    const char* required() {
        const char* word = text();
        if (!word) broken_input("the run description ends early");
        return word;
    }
    uint64_t number() {
        const char* word = required();
        char* end;
        const uint64_t value = std::strtoull(word, &end, 10);
        if (*end) broken_input("not a number in the run description: %s", word);
        return value;
    }
    uint32_t word32() { return static_cast<uint32_t>(number()); }
};

template <std::size_t N>
void copy_name(char (&to)[N], const char* from) {
    std::snprintf(to, N, "%s", from);
}

Role role_of(const char* word) {
    if (!std::strcmp(word, "reader")) return Role::Reader;
    if (!std::strcmp(word, "compute")) return Role::Compute;
    if (!std::strcmp(word, "writer")) return Role::Writer;
    if (!std::strcmp(word, "any")) return Role::Any;
    broken_input("not a role: %s", word);
}

char* read_standard_input() {
    std::size_t used = 0, room = 1 << 16;
    char* text = static_cast<char*>(std::malloc(room));
    for (;;) {
        const ssize_t count = read(STDIN_FILENO, text + used, room - used - 1);
        if (count < 0) broken_input("cannot read the run description");
        if (count == 0) break;
        used += static_cast<std::size_t>(count);
        if (used + 1 == room) text = static_cast<char*>(std::realloc(text, room *= 2));
    }
    text[used] = 0;
    return text;
}

void read_chip(Words& words) {
    Chip& chip = device.chip;
    chip.l1_bytes = words.word32();
    chip.l1_base = words.word32();
    chip.cb_count = words.word32();
    chip.dram_banks = words.word32();
    chip.dram_read_align = words.word32();
    chip.noc_align = words.word32();
    chip.zeros_base = words.word32();
    chip.grid_x = words.word32();
    chip.grid_y = words.word32();
    chip.blackhole = words.number() != 0;
}

void load_chip_numerics(const char* path) {
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) broken_input("cannot load chip numerics: %s", dlerror());
    chip::library = static_cast<const chip::Library*>(dlsym(library, "vd_chip_library"));
    if (!chip::library) broken_input("no chip numerics in %s", path);
}

void read_run(Words& words) {
    const uint32_t numerics = words.word32();  // order of NUMERICS in runtime/program.py
    device.exact = numerics == 1;
    device.bit_true = numerics == 2;
    device.numberless = numerics == 3;
    device.threads = words.word32();
    device.l1_window = words.word32();
    device.time_limit = static_cast<double>(words.number()) * 1e-3;
    device.seed = words.number();
    if (device.bit_true) load_chip_numerics(words.required());
}

void read_clock(Words& words) {
    const char* const library = words.required();
    const char* const record = words.required();
    GrowingText setup;
    for (uint32_t left = words.word32(); left != 0; --left) (setup += words.required()) += ' ';
    load_clock(library, record, setup.text());
}

std::vector<uint32_t> read_list(Words& words) {
    std::vector<uint32_t> list(words.word32());
    for (uint32_t& value : list) value = words.word32();
    return list;
}

Arguments read_arguments(Words& words) {
    Arguments arguments;
    arguments.values.resize(words.word32());
    for (uint32_t i = 0; i < arguments.values.size(); ++i) {
        if (words.skip('@')) arguments.l1_addresses.push_back(i);
        arguments.values[i] = words.word32();
    }
    return arguments;
}

// Without `populate` only what is touched takes memory.
uint8_t* map_shared(uint64_t offset, uint64_t bytes, bool populate) {
    int flags = MAP_SHARED;
#ifdef MAP_POPULATE
    if (populate) flags |= MAP_POPULATE;
#else
    (void)populate;
#endif
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, device.memory, static_cast<off_t>(offset));
    if (memory == MAP_FAILED) broken_input("cannot map the memory of the device");
    return static_cast<uint8_t*>(memory);
}

uint8_t* dram;

void read_memory(Words& words) {
    const uint64_t dram_bytes = words.number();
    device.l1_shared = words.number();
    device.l1_heap = words.word32();
    if (dram_bytes) dram = map_shared(0, dram_bytes, !device.numberless);
    if (device.l1_heap) {
        const uint64_t bytes = static_cast<uint64_t>(device.chip.cores()) * device.l1_window;
        device.l1_bytes = map_shared(device.l1_shared, bytes, false);
    }
}

void read_tensor(Words& words) {
    Tensor tensor{};
    copy_name(tensor.name, words.required());
    tensor.dram = !std::strcmp(words.required(), "dram");
    tensor.address = words.word32();
    tensor.page_bytes = words.word32();
    tensor.pages = words.word32();
    tensor.bytes = dram + words.number();
    tensor.marks = dram + words.number();
    tensor.flat = words.number() != 0;
    tensor.slots = words.word32();
    tensor.sharded = tensor.slots != 0;
    tensor.banks = tensor.dram ? device.chip.dram_banks : device.chip.cores();
    if (tensor.sharded) {
        tensor.place_of = read_list(words);
        tensor.page_at.assign(static_cast<std::size_t>(tensor.banks) * tensor.slots, kNoPage);
        for (uint32_t page = 0; page < tensor.pages; ++page) tensor.page_at[tensor.place_of[page]] = page;
    }
    device.tensors.push_back(tensor);
}

void read_cb(Words& words, CoreGroup& group) {
    const uint32_t id = words.word32();
    if (id >= kMaxCbs) broken_input("CB id %u", id);
    CbConfig& cb = group.cbs[id];
    cb.used = true;
    group.cb_ids.push_back(id);
    copy_name(cb.name, words.required());
    cb.declared = static_cast<DataFormat>(words.number());
    cb.storage = static_cast<DataFormat>(words.number());
    cb.page_bytes = words.word32();
    cb.pages = words.word32();
    cb.offset = words.word32();
    cb.producer = role_of(words.required());
    cb.consumer = role_of(words.required());
    const bool wide = cb.declared == DataFormat::Float32 || is_32bit_integer(cb.declared);
    cb.to_dest = words.number() != 0 && wide;  // the unpacker ignores the mode for narrower formats
    cb.on_tensor = words.number() != 0;
    cb.tile_rows = words.word32();
    cb.tile_cols = words.word32();
}

void read_kernel(Words& words, Launch& launch) {
    CoreGroup& group = launch.groups.back();
    KernelConfig& kernel = group.kernels[static_cast<uint32_t>(role_of(words.required()))];
    kernel.used = true;
    const char* path = words.required();
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) broken_input("cannot load a kernel: %s", dlerror());
    kernel.entry = reinterpret_cast<void (*)()>(dlsym(library, "_Z11kernel_mainv"));
    if (!kernel.entry) broken_input("no kernel_main in %s", path);
    // A kernel that can name another core carries this symbol (vd/cores.h).
    if (dlsym(library, "vd_kernel_reaches_cores")) launch.reaches_cores = true;
    if (dlsym(library, "vd_kernel_has_globals")) {
        find_globals(library, kernel);
        launch.globals = true;
    }
    kernel.noc = static_cast<uint8_t>(words.number());
    kernel.watched = words.number() != 0;
    kernel.common_args = read_arguments(words);
}

void read_group(Words& words, Launch& launch) {
    launch.groups.emplace_back();
    CoreGroup& group = launch.groups.back();
    group.fp32_dest = words.number() != 0;
    group.full_sync = words.number() != 0;
    group.fidelity = static_cast<Fidelity>(words.number());
    group.math_approx = words.number() != 0;
}

void read_semaphore(Words& words, Launch& launch) {
    const uint32_t id = words.word32();
    if (id >= kMaxSemaphores) broken_input("semaphore id %u", id);
    launch.groups.back().semaphores[id] = {true, words.word32()};
    launch.semaphores = true;
}

void read_core(Words& words, Launch& launch) {
    CoreConfig config{};
    config.x = words.word32();
    config.y = words.word32();
    config.group = static_cast<uint32_t>(launch.groups.size() - 1);
    for (auto& args : config.args) args = read_arguments(words);
    launch.cores.push_back(std::move(config));
}

void read_description() {
    Words words{read_standard_input()};
    while (const char* word = words.text()) {
        if (!std::strcmp(word, "chip")) {
            read_chip(words);
        } else if (!std::strcmp(word, "run")) {
            read_run(words);
        } else if (!std::strcmp(word, "clock")) {
            read_clock(words);
        } else if (!std::strcmp(word, "allow")) {
            for (uint32_t left = words.word32(); left != 0; --left) allow(words.required());
        } else if (!std::strcmp(word, "memory")) {
            read_memory(words);
        } else if (!std::strcmp(word, "tensor")) {
            read_tensor(words);
        } else if (!std::strcmp(word, "launch")) {
            device.launches.emplace_back();
            copy_name(device.launches.back().name, words.required());
        } else if (!std::strcmp(word, "group")) {
            read_group(words, device.launches.back());
        } else if (!std::strcmp(word, "cb")) {
            read_cb(words, device.launches.back().groups.back());
        } else if (!std::strcmp(word, "semaphore")) {
            read_semaphore(words, device.launches.back());
        } else if (!std::strcmp(word, "kernel")) {
            read_kernel(words, device.launches.back());
        } else if (!std::strcmp(word, "core")) {
            read_core(words, device.launches.back());
        } else {
            broken_input("unknown directive in the run description: %s", word);
        }
    }
}

void start_time_limit() {
    itimerval timer{};
    timer.it_value.tv_sec = static_cast<time_t>(device.time_limit);
    timer.it_value.tv_usec =
        static_cast<suseconds_t>((device.time_limit - static_cast<double>(timer.it_value.tv_sec)) * 1e6);
    setitimer(ITIMER_REAL, &timer, nullptr);
}

// Kernels are loaded: their lines can have breakpoints.
void wait_for_debugger() {
#ifdef PR_SET_PTRACER
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
    for (int tracer = 0; tracer == 0; usleep(50'000)) {
        std::FILE* status = std::fopen("/proc/self/status", "r");
        if (status == nullptr) return;
        char line[128];
        while (std::fgets(line, sizeof line, status) != nullptr && std::sscanf(line, "TracerPid: %d", &tracer) != 1) {
        }
        std::fclose(status);
    }
}

double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: runner MEMORY_DESCRIPTOR < DESCRIPTION (started by tilelang_tt.runtime.virtual)\n");
        return 1;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a caller that is gone waits for nothing
    guard_process();
    install_signal_handlers();
    install_thread_signal_stack();
    device.memory = std::atoi(argv[1]);
    read_description();
    if (std::getenv("TILELANG_TT_GDB")) {
        wait_for_debugger();
    } else {
        start_time_limit();
    }
    const double start = now();
    uint32_t cores_used = 0;
    for (std::size_t i = 0; i < device.launches.size(); ++i) {
        device.launch = &device.launches[i];
        device.launch_index = static_cast<uint32_t>(i);
        forget_page_users();
        begin_clock();
        run_launch();
        end_clock();
        const uint32_t cores = static_cast<uint32_t>(device.launch->cores.size());
        if (cores > cores_used) cores_used = cores;
    }
    report_success(total_statistics(), now() - start, cores_used);
}
