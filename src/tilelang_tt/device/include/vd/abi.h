// What the virtual device offers to a kernel: C functions the runner exports, resolved when the kernel
// is loaded. The SDK-named functions in `api/` are thin inline wrappers around these; every call
// carries the line it stands on, so that each complaint can name it.
#pragma once

#include <cstdint>

extern "C" {

// Runtime arguments.
uint32_t vd_arg(uint32_t index, uint32_t line);
uint32_t vd_common_arg(uint32_t index, uint32_t line);

// Circular buffers.
void vd_cb_reserve_back(uint32_t cb, uint32_t pages, uint32_t line);
void vd_cb_push_back(uint32_t cb, uint32_t pages, uint32_t line);
void vd_cb_wait_front(uint32_t cb, uint32_t pages, uint32_t line);
void vd_cb_pop_front(uint32_t cb, uint32_t pages, uint32_t line);
uint32_t vd_cb_write_ptr(uint32_t cb, uint32_t line);
uint32_t vd_cb_read_ptr(uint32_t cb, uint32_t line);
bool vd_cb_reservable(uint32_t cb, uint32_t pages, uint32_t line);
bool vd_cb_available(uint32_t cb, uint32_t pages, uint32_t line);

// NoC. `page` forms name a page of the interleaved tensor at `base`.
uint64_t vd_noc_addr_of_page(uint32_t base, uint32_t page_bytes, uint32_t page, uint32_t offset, uint32_t line);
uint64_t vd_noc_addr_local(uint32_t l1_addr);
void vd_noc_read(uint64_t source, uint32_t l1_addr, uint32_t bytes, uint32_t line);
void vd_noc_write(uint32_t l1_addr, uint64_t target, uint32_t bytes, uint32_t line);
void vd_noc_read_barrier(uint32_t line);
void vd_noc_write_barrier(uint32_t line);
void vd_noc_writes_flushed(uint32_t line);

// Compute: start-up, formats, DST protocol.
void vd_startup(uint32_t srca_cb, uint32_t srcb_cb, uint32_t out_cb, bool reversed, uint32_t line);
void vd_reconfig_srca(uint32_t cb, uint32_t line);
void vd_reconfig_srcb(uint32_t cb, uint32_t line);
void vd_reconfig_pack(uint32_t cb, uint32_t line);
bool vd_same_format(uint32_t cb, uint32_t other, uint32_t line);
void vd_pack_l1_acc(uint32_t enable, uint32_t line);
void vd_regs_acquire(uint32_t line);
void vd_regs_commit(uint32_t line);
void vd_regs_wait(uint32_t line);
void vd_regs_release(uint32_t line);

// Compute: operations between circular buffers and DST.
void vd_copy_init(uint32_t cb, bool transpose, uint32_t line);
void vd_copy_tile(uint32_t cb, uint32_t tile, uint32_t dst, uint32_t line);
void vd_transpose_init(uint32_t cb, uint32_t line);
void vd_transpose_tile(uint32_t cb, uint32_t tile, uint32_t dst, uint32_t line);
void vd_pack_tile(uint32_t dst, uint32_t cb, bool indexed, uint32_t index, uint32_t line);
void vd_matmul_init(uint32_t in0, uint32_t in1, bool block, uint32_t transpose, uint32_t ct, uint32_t rt, uint32_t kt,
                    uint32_t line);
void vd_matmul(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t dst, bool block, uint32_t transpose,
               uint32_t ct, uint32_t rt, uint32_t kt, uint32_t line);
void vd_binary_init(uint32_t op, uint32_t broadcast, uint32_t in0, uint32_t in1, bool accumulate, uint32_t line);
void vd_binary_tile(uint32_t op, uint32_t broadcast, uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1,
                    uint32_t dst, uint32_t line);

// Compute: vector unit, on DST only. `op` numbers are vd::Sfpu of vd/ops.h.
void vd_sfpu_init(uint32_t op, uint32_t line);
void vd_sfpu_unary(uint32_t op, uint32_t dst, uint32_t bits, uint32_t line);
void vd_sfpu_binary(uint32_t op, uint32_t left, uint32_t right, uint32_t out, uint32_t line);
void vd_typecast(uint32_t from, uint32_t to, uint32_t dst, uint32_t line);

// Stops the run: the name exists in the SDK but not in this device.
[[noreturn]] void vd_unimplemented(const char* name, uint32_t line);

}  // extern "C"
