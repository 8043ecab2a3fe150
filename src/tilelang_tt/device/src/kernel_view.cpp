// What kernels may look at besides the protocol: their arguments as words of L1, and the fields of a circular buffer.
#include <cstring>

#include "kept.h"

namespace vd {
namespace {

constexpr uint32_t kArgumentBytes = 2048;  // of one list; the SDK promises room for 341 words
constexpr uint32_t kWord = 16;             // bytes; the unit of compute processors

// Below the semaphores, in the area of the kernels' configuration, each kernel has two lists.
uint32_t arguments_offset(bool common) {
    const uint32_t list = static_cast<uint32_t>(fiber->role) * 2 + common;
    return device.chip.semaphore_offset(0) - (list + 1) * kArgumentBytes;
}

[[noreturn]] void refuse_move() {
    vd_unimplemented("moving fifo_rd_ptr or fifo_wr_ptr out of the pages of its buffer", fiber->line);
}

}  // namespace

uint32_t pointer_offset(uint32_t cb, bool reads) {
    const CbConfig& config = core->group->cbs[cb];
    const CbState& state = core->cbs[cb];
    const int32_t stray = reads ? state.stray_read : state.stray_write;
    const uint32_t page = stray != 0 ? static_cast<uint32_t>(stray) : reads ? state.read_page : state.write_page;
    return config.offset + page * config.page_bytes + (reads ? state.read_shift : state.write_shift);
}

void refuse_stray(uint32_t cb, bool reads) {
    const CbState& state = core->cbs[cb];
    if ((reads ? state.stray_read : state.stray_write) != 0) refuse_move();
}

bool in_arguments(uint32_t offset, uint32_t bytes) {
    const uint32_t end = device.chip.semaphore_offset(0);
    return offset >= end - 2 * kRoles * kArgumentBytes && offset + bytes <= end;
}

}  // namespace vd

using namespace vd;

extern "C" {

uint32_t vd_arg_addr(uint32_t index, bool common, uint32_t line) {
    begin(line);
    const uint32_t role = static_cast<uint32_t>(fiber->role);
    const Arguments& args = common ? core->group->kernels[role].common_args : core->config->args[role];
    const uint32_t count = static_cast<uint32_t>(args.values.size());
    if (index > count) breach("arg-index", "address of runtime argument %u: this kernel has %u", index, count);
    if (count * sizeof(uint32_t) > kArgumentBytes) vd_unimplemented("get_arg_addr of more than 512 arguments", line);
    const uint32_t offset = arguments_offset(common);
    for (uint32_t i = 0; i < count && !fiber->arguments_placed[common]; ++i) {
        const uint32_t value = args.at(i);
        std::memcpy(core->l1 + offset + i * sizeof value, &value, sizeof value);
    }
    fiber->arguments_placed[common] = true;
    return l1_address(offset) + index * static_cast<uint32_t>(sizeof(uint32_t));
}

uint32_t vd_cb_page_bytes(uint32_t cb, uint32_t line) {
    begin(line);
    return cb_config(cb).page_bytes;
}

// Of a buffer that the program does not have, address 0: a kernel may ask for what it then does not use.
uint32_t vd_tile_address(uint32_t cb, uint32_t tile, uint32_t line) {
    begin(line);
    catch_up(kUnpack, "the address of a tile");
    require_cb_id(cb);
    if (!core->group->cbs[cb].used) return l1_address(0);
    return l1_address(static_cast<uint32_t>(readable_tile(cb, tile) - core->l1));
}

uint32_t vd_cb_field(uint32_t cb, uint32_t field) {
    require_cb_id(cb);
    const CbConfig& config = core->group->cbs[cb];
    if (!config.used) return 0;
    catch_up(field == VD_CB_RD_PTR ? kUnpack : kPack, "a field of a circular buffer");
    const CbState& state = core->cbs[cb];
    if (field == VD_CB_NUM_PAGES) return config.pages;
    const uint32_t begin = l1_address(config.offset), bytes = config.pages * config.page_bytes;
    const uint32_t value = field == VD_CB_SIZE        ? bytes
                           : field == VD_CB_LIMIT     ? begin + bytes
                           : field == VD_CB_PAGE_SIZE ? config.page_bytes
                           : field == VD_CB_RD_PTR    ? l1_address(pointer_offset(cb, true))
                           : field == VD_CB_WR_PTR    ? l1_address(pointer_offset(cb, false))
                                                      : state.pack_cursor * config.page_bytes;
    return fiber->role == Role::Compute ? value / kWord : value;
}

// A processor moves its own pointer; the counts of pages stay as they are.
void vd_cb_set_field(uint32_t cb, uint32_t field, uint32_t value) {
    if (field != VD_CB_RD_PTR && field != VD_CB_WR_PTR) {
        vd_unimplemented("writing a field of LocalCBInterface other than fifo_rd_ptr and fifo_wr_ptr", fiber->line);
    }
    const bool reads = field == VD_CB_RD_PTR;
    const uint32_t line = fiber->line;
    KEEP_OR_BEGIN(reads ? kUnpack : kPack, [=] { vd_cb_set_field(cb, field, value); });
    const CbConfig& config = cb_config(cb);
    CbState& state = core->cbs[cb];
    const Role owner = reads ? state.consumer : state.producer;
    if (owner != Role::Any && owner != fiber->role) {
        vd_unimplemented("writing fifo_rd_ptr or fifo_wr_ptr by a kernel that is not the buffer's consumer or producer",
                         fiber->line);
    }
    const int32_t within =
        static_cast<int32_t>((fiber->role == Role::Compute ? value * kWord : value) - l1_address(config.offset));
    const int32_t size = static_cast<int32_t>(config.page_bytes);
    const int32_t page = (within < 0 ? within - size + 1 : within) / size;
    // Compute steps back first and wraps round then: outside the buffer its pointer may be held, not used.
    const bool inside = page >= 0 && page < static_cast<int32_t>(config.pages);
    if (!inside && fiber->role != Role::Compute) refuse_move();
    (reads ? state.read_page : state.write_page) = inside ? static_cast<uint32_t>(page) : 0;
    (reads ? state.stray_read : state.stray_write) = inside ? 0 : page;
    (reads ? state.read_shift : state.write_shift) = static_cast<uint32_t>(within - page * size);
    state.moved = state.moved || reads;
    state.held = state.held || !reads;
}

}  // extern "C"
