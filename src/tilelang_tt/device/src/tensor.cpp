// Where the pages of tensors lie: DRAM banks and the L1 of cores, interleaved and sharded.
#include <sys/mman.h>
#include <unistd.h>

#include "machine.h"

namespace vd {

uint32_t Tensor::page_of(uint32_t bank, uint64_t slot) const {
    if (bank >= banks) return kNoPage;
    if (sharded) return slot < slots ? page_at[bank * slots + slot] : kNoPage;
    const uint64_t page = slot * banks + bank;
    return page < pages ? static_cast<uint32_t>(page) : kNoPage;
}

uint8_t* Tensor::page_bytes_at(uint32_t page) const {
    if (!dram) return shared_l1(bank_of(page)) + address + static_cast<uint64_t>(slot_of(page)) * page_bytes;
    return bytes + static_cast<uint64_t>(sharded ? place_of[page] : page) * page_bytes;
}

Tensor* tensor_at(bool dram, uint32_t bank, uint64_t address, uint32_t& page) {
    for (Tensor& tensor : device.tensors) {
        if (tensor.dram != dram || address < tensor.address) continue;
        page = tensor.page_of(bank, (address - tensor.address) / tensor.page_bytes);
        if (page != kNoPage) return &tensor;
    }
    return nullptr;
}

const Tensor* tensor_in_l1(uint32_t bank, uint32_t address, uint32_t bytes) {
    for (const Tensor& tensor : device.tensors) {
        const uint64_t end = static_cast<uint64_t>(address) + bytes;
        if (tensor.dram || end <= tensor.address) continue;
        const uint64_t first = address < tensor.address ? 0 : (address - tensor.address) / tensor.page_bytes;
        for (uint64_t slot = first; tensor.address + slot * tensor.page_bytes < end; ++slot) {
            if (tensor.page_of(bank, slot) != kNoPage) return &tensor;
        }
    }
    return nullptr;
}

uint64_t place_in_tensor(const Span& far) {
    const uint32_t page = static_cast<uint32_t>(far.page);
    const std::ptrdiff_t within = far.bytes - far.tensor->page_bytes_at(page);
    return far.page * far.tensor->page_bytes + static_cast<uint64_t>(within);
}

uint8_t* shared_l1(uint32_t bank) { return device.l1_bytes + static_cast<uint64_t>(bank) * device.l1_window; }

void map_shared_l1(Core& at) {
    if (device.l1_heap == 0) return;
    const uint32_t page = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
    const uint32_t begin = device.l1_heap & ~(page - 1);
    const uint64_t number = static_cast<uint64_t>(at.y) * device.chip.grid_x + at.x;
    const uint64_t from = device.l1_shared + number * device.l1_window + begin;
    void* want = at.l1 + begin;
    void* got = mmap(want, device.l1_window - begin, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, device.memory,
                     static_cast<off_t>(from));
    if (got != want) broken_input("cannot map the tensors in the L1 of a core");
}

}  // namespace vd
