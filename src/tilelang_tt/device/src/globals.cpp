// Mutable globals of kernels. On the chip every processor of every core has its own, fresh for each program; here the
// kernels of all cores share one library, so a fiber takes its values along: they are put in place when it is resumed
// and kept when it gives way. Launches with such kernels run on one thread.
#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "machine.h"

namespace vd {
namespace {

struct Search {
    ElfW(Addr) base;
    uint8_t *begin = nullptr, *end = nullptr;
};

// The writable segment without what the loader has made read-only again.
int find_segment(dl_phdr_info* info, std::size_t, void* argument) {
    Search& search = *static_cast<Search*>(argument);
    if (info->dlpi_addr != search.base) return 0;
    uint8_t* const base = reinterpret_cast<uint8_t*>(info->dlpi_addr);
    for (uint32_t i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = info->dlpi_phdr[i];
        if (header.p_type != PT_LOAD || !(header.p_flags & PF_W)) continue;
        search.begin = base + header.p_vaddr;
        search.end = search.begin + header.p_memsz;
    }
    for (uint32_t i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = info->dlpi_phdr[i];
        uint8_t* const end = base + header.p_vaddr + header.p_memsz;
        if (header.p_type == PT_GNU_RELRO && end > search.begin && end <= search.end) search.begin = end;
    }
    return 1;
}

}  // namespace

void find_globals(void* library, KernelConfig& kernel) {
    link_map* map = nullptr;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) broken_input("cannot look into a kernel: %s", dlerror());
    Search search{map->l_addr};
    dl_iterate_phdr(find_segment, &search);
    if (!search.begin) broken_input("a kernel with globals has no segment for them");
    kernel.globals = search.begin;
    kernel.initial_globals.assign(search.begin, search.end);
}

void put_globals(const KernelConfig& kernel, const Fiber& which) {
    if (kernel.globals) std::memcpy(kernel.globals, which.globals.data(), which.globals.size());
}

void keep_globals(const KernelConfig& kernel, Fiber& which) {
    if (kernel.globals) std::memcpy(which.globals.data(), kernel.globals, which.globals.size());
}

}  // namespace vd
