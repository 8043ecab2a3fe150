// The runner: reads a run description, loads the kernels, runs the launches, reports.
//
// The description is a text of words on standard input; runtime/description.py writes it from the plan and says
// what each line holds.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "machine.h"

using namespace vd;

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
    chip.blackhole = words.number() != 0;
}

void read_run(Words& words) {
    const uint32_t numerics = words.word32();  // order of NUMERICS in runtime/description.py
    device.exact = numerics == 1;
    device.bit_true = numerics == 2;
    device.threads = words.word32();
    device.l1_window = words.word32();
    device.time_limit = static_cast<double>(words.number()) * 1e-3;
}

void read_tensor(Words& words, uint8_t* dram) {
    Tensor tensor{};
    copy_name(tensor.name, words.required());
    tensor.address = words.word32();
    tensor.page_bytes = words.word32();
    tensor.pages = words.word32();
    tensor.bytes = dram + words.number();
    tensor.marks = dram + words.number();
    device.tensors.push_back(tensor);
}

void read_cb(Words& words, Launch& launch) {
    const uint32_t id = words.word32();
    if (id >= kMaxCbs) broken_input("CB id %u", id);
    CbConfig& cb = launch.cbs[id];
    cb.used = true;
    copy_name(cb.name, words.required());
    cb.declared = static_cast<DataFormat>(words.number());
    cb.storage = static_cast<DataFormat>(words.number());
    cb.page_bytes = words.word32();
    cb.pages = words.word32();
    cb.offset = words.word32();
    cb.producer = role_of(words.required());
    cb.consumer = role_of(words.required());
    cb.to_dest = words.number() != 0;
}

void read_kernel(Words& words, Launch& launch) {
    KernelConfig& kernel = launch.kernels[static_cast<uint32_t>(role_of(words.required()))];
    kernel.used = true;
    const char* path = words.required();
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) broken_input("cannot load a kernel: %s", dlerror());
    kernel.entry = reinterpret_cast<void (*)()>(dlsym(library, "_Z11kernel_mainv"));
    if (!kernel.entry) broken_input("no kernel_main in %s", path);
    const uint32_t cores = words.word32(), count = words.word32();
    kernel.args.assign(cores, std::vector<uint32_t>(count));
    for (auto& list : kernel.args) {
        for (uint32_t& value : list) value = words.word32();
    }
}

void read_description(uint8_t* dram) {
    Words words{read_standard_input()};
    while (const char* word = words.text()) {
        if (!std::strcmp(word, "chip")) {
            read_chip(words);
        } else if (!std::strcmp(word, "run")) {
            read_run(words);
        } else if (!std::strcmp(word, "tensor")) {
            read_tensor(words, dram);
        } else if (!std::strcmp(word, "launch")) {
            device.launches.emplace_back();
            Launch& launch = device.launches.back();
            copy_name(launch.name, words.required());
            launch.grid_x = words.word32();
            launch.grid_y = words.word32();
            launch.fp32_dest = words.number() != 0;
            launch.full_sync = words.number() != 0;
            launch.fidelity = static_cast<Fidelity>(words.number());
        } else if (!std::strcmp(word, "cb")) {
            read_cb(words, device.launches.back());
        } else if (!std::strcmp(word, "kernel")) {
            read_kernel(words, device.launches.back());
        } else {
            broken_input("unknown directive in the run description: %s", word);
        }
    }
}

// The memory Python shares with the runner.
uint8_t* map_dram(int descriptor) {
    struct stat info;
    if (fstat(descriptor, &info) != 0 || info.st_size == 0) return nullptr;
    int flags = MAP_SHARED;
#ifdef MAP_POPULATE
    flags |= MAP_POPULATE;
#endif
    void* memory = mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ | PROT_WRITE, flags, descriptor, 0);
    if (memory == MAP_FAILED) broken_input("cannot map the DRAM of the device");
    return static_cast<uint8_t*>(memory);
}

void start_time_limit() {
    itimerval timer{};
    timer.it_value.tv_sec = static_cast<time_t>(device.time_limit);
    timer.it_value.tv_usec =
        static_cast<suseconds_t>((device.time_limit - static_cast<double>(timer.it_value.tv_sec)) * 1e6);
    setitimer(ITIMER_REAL, &timer, nullptr);
}

double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: runner DRAM_DESCRIPTOR < DESCRIPTION (started by tilelang_tt.runtime.virtual)\n");
        return 1;
    }
    install_signal_handlers();
    install_thread_signal_stack();
    read_description(map_dram(std::atoi(argv[1])));
    start_time_limit();
    const double start = now();
    uint32_t cores_used = 0;
    for (std::size_t i = 0; i < device.launches.size(); ++i) {
        device.launch = &device.launches[i];
        device.launch_index = static_cast<uint32_t>(i);
        forget_page_users();
        run_launch();
        const uint32_t cores = device.launch->grid_x * device.launch->grid_y;
        if (cores > cores_used) cores_used = cores;
    }
    report_success(total_statistics(), now() - start, cores_used);
}
