// What the virtual device offers to a kernel: C functions the runner exports, resolved when the kernel
// is loaded. The SDK-named functions in `api/` are thin inline wrappers around these; every call
// carries the line it stands on, so that each complaint can name it.
#pragma once

#include <cstdint>

#include "vd/ops.h"

// Fields of a circular buffer as its processor keeps them; compute processors count in words of 16 bytes.
enum : uint8_t {
    VD_CB_SIZE,
    VD_CB_LIMIT,
    VD_CB_PAGE_SIZE,
    VD_CB_NUM_PAGES,
    VD_CB_RD_PTR,
    VD_CB_WR_PTR,
    VD_CB_WR_TILE_PTR,
};

extern "C" {

// Runtime arguments.
uint32_t vd_arg(uint32_t index, uint32_t line);
uint32_t vd_common_arg(uint32_t index, uint32_t line);
uint32_t vd_arg_addr(uint32_t index, bool common, uint32_t line);

// Circular buffers.
void vd_cb_reserve_back(uint32_t cb, uint32_t pages, uint32_t line);
void vd_cb_push_back(uint32_t cb, uint32_t pages, uint32_t line);
void vd_cb_wait_front(uint32_t cb, uint32_t pages, uint32_t line);
void vd_cb_pop_front(uint32_t cb, uint32_t pages, uint32_t line);
uint32_t vd_cb_pages(uint32_t cb, uint32_t line);
uint32_t vd_tile_address(uint32_t cb, uint32_t tile, uint32_t line);  // of a tile that was waited for
uint32_t vd_cb_write_ptr(uint32_t cb, uint32_t line);
uint32_t vd_cb_read_ptr(uint32_t cb, uint32_t line);
uint32_t vd_cb_page_bytes(uint32_t cb, uint32_t line);
uint32_t vd_cb_field(uint32_t cb, uint32_t field);  // VD_CB_SIZE ...
void vd_cb_set_field(uint32_t cb, uint32_t field, uint32_t value);  // the read and the write pointer
bool vd_cb_reservable(uint32_t cb, uint32_t pages, uint32_t line);
bool vd_cb_available(uint32_t cb, uint32_t pages, uint32_t line);

// Compute: start-up, formats, DST protocol.
void vd_startup(uint32_t srca_cb, uint32_t srcb_cb, uint32_t out_cb, bool reversed, uint32_t line);
void vd_reconfig_srca(uint32_t cb, uint32_t line);
void vd_reconfig_srcb(uint32_t cb, uint32_t line);
void vd_switch_srca(uint32_t before, uint32_t after, uint32_t line);  // nothing to do when the formats are equal
void vd_switch_srcb(uint32_t before, uint32_t after, uint32_t line);
void vd_reconfig_pack(uint32_t cb, uint32_t line);
bool vd_same_format(uint32_t cb, uint32_t other, uint32_t line);
void vd_pack_l1_acc(uint32_t enable, uint32_t line);
void vd_regs_acquire(uint32_t line);
void vd_regs_commit(uint32_t line);
void vd_regs_wait(uint32_t line);
void vd_regs_release(uint32_t line);
void vd_dst_acquire(uint32_t line);
void vd_dst_release(uint32_t line);
void vd_unary_startup(uint32_t icb, uint32_t ocb, uint32_t line);

// Compute: operations between circular buffers and DST.
void vd_copy_init(uint32_t cb, bool transpose_faces, bool transpose_within, uint32_t line);
void vd_copy_tile(uint32_t cb, uint32_t tile, uint32_t dst, uint32_t line);
void vd_transpose_init(uint32_t cb, uint32_t line);
void vd_transpose_tile(uint32_t cb, uint32_t tile, uint32_t dst, uint32_t line);
void vd_pack_tile(uint32_t dst, uint32_t cb, bool indexed, uint32_t index, uint32_t line);
void vd_pack_width(uint32_t cb, uint32_t tiles, uint32_t line);  // tiles that one pack moves
// `form`: how the engine is driven (vd::Product).
void vd_matmul_init(uint32_t in0, uint32_t in1, vd::Product form, uint32_t transpose, uint32_t ct, uint32_t rt, uint32_t kt,
                    uint32_t line);
void vd_matmul(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t dst, vd::Product form,
               uint32_t transpose, uint32_t ct, uint32_t rt, uint32_t kt, uint32_t line);
void vd_sub_columns_init(uint32_t in0, uint32_t in1, uint32_t tiles, uint32_t line);
void vd_sub_columns(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t dst, uint32_t tiles,
                    uint32_t line);
void vd_binary_init(uint32_t op, uint32_t broadcast, uint32_t in0, uint32_t in1, bool accumulate, uint32_t line);
void vd_binary_tile(uint32_t op, uint32_t broadcast, uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1,
                    uint32_t dst, uint32_t row, uint32_t line);
void vd_reuse_init(uint32_t op, uint32_t reuse, uint32_t cb, uint32_t line);
void vd_reuse_tile(uint32_t op, uint32_t reuse, uint32_t cb, uint32_t tile, uint32_t dst, uint32_t line);
void vd_unary_bcast_init(uint32_t broadcast, uint32_t cb, uint32_t line);
void vd_unary_bcast(uint32_t broadcast, uint32_t cb, uint32_t tile, uint32_t dst, uint32_t line);
void vd_unary_bcast_uninit(uint32_t cb, uint32_t line);

// Compute: reductions. The packer keeps its mask until the uninit.
void vd_reduce_init(uint32_t pool, uint32_t dim, uint32_t in, uint32_t scaler, uint32_t out, uint32_t line);
void vd_reduce_reinit(uint32_t pool, uint32_t dim, uint32_t in, uint32_t scaler, uint32_t line);  // the mask is on
void vd_reduce_tile(uint32_t pool, uint32_t dim, uint32_t in, uint32_t scaler, uint32_t tile, uint32_t scaler_tile,
                    uint32_t dst, uint32_t line);
void vd_pack_reduce_mask(uint32_t dim, uint32_t line);
void vd_reduce_uninit(uint32_t line);
// `triggered`: a semaphore between processors stands for the wait on the buffer.
void vd_block_max_init(uint32_t tiles, uint32_t out, bool triggered, uint32_t line);
void vd_block_max(uint32_t tiles, uint32_t in, uint32_t scaler, uint32_t first, uint32_t dst, bool triggered,
                  uint32_t line);
void vd_block_max_uninit(uint32_t line);

// Compute: row-major pages to tiles and back.
void vd_tilize_init(uint32_t in, uint32_t tiles, uint32_t out, uint32_t line);
void vd_tilize_block(uint32_t in, uint32_t tiles, uint32_t out, uint32_t first_in, uint32_t first_out, uint32_t line);
void vd_tilize_uninit(uint32_t in, uint32_t out, uint32_t line);
void vd_untilize_init(uint32_t in, uint32_t line);
void vd_untilize_block(uint32_t in, uint32_t tiles, uint32_t out, uint32_t line);
void vd_untilize_uninit(uint32_t in, uint32_t line);
void vd_pack_untilize_init(uint32_t block, uint32_t full, uint32_t out, uint32_t line);
void vd_pack_untilize_block(uint32_t in, uint32_t rows, uint32_t block, uint32_t full, uint32_t out,
                            uint32_t block_index, uint32_t line);
void vd_pack_untilize_dest(uint32_t block, uint32_t full, uint32_t out, uint32_t rows, uint32_t block_index,
                           uint32_t first_dst, uint32_t line);
void vd_pack_untilize_uninit(uint32_t out, uint32_t line);

// Compute: the packer's ReLU. `mode` as in ckernel::ReluType, `threshold` 16 bits.
void vd_pack_relu(uint32_t mode, uint32_t threshold, uint32_t line);

// Compute: vector unit, on DST only.
void vd_sfpu_init(const vd::SfpuCall* call, uint32_t line);
void vd_sfpu(const vd::SfpuCall* call, uint32_t line);
void vd_typecast(uint32_t from, uint32_t to, uint32_t dst, uint32_t line);
void vd_copy_dest(uint32_t from, uint32_t to, bool floats, uint32_t line);
void vd_bcast_in_dst(uint32_t op, bool column, uint32_t data, uint32_t vector, uint32_t line);
void vd_cumsum(uint32_t dst, bool first, uint32_t line);
void vd_transpose_dest_init(bool faces, bool words, uint32_t line);
void vd_transpose_dest(uint32_t dst, bool faces, bool words, uint32_t line);

void vd_welford_clear(uint32_t line);
void vd_welford_update(uint32_t dst, uint32_t first_index, uint32_t first_row, uint32_t rows, const uint32_t* table,
                       uint32_t entries, uint32_t line);
void vd_welford_finalize(uint32_t dst, uint32_t scale_index, const uint32_t* table, uint32_t entries, uint32_t line);
void vd_welford_save_group(uint32_t dst, uint32_t group, uint32_t line);
void vd_welford_restore_group(uint32_t dst, uint32_t group, uint32_t line);
void vd_welford_finalize_group(uint32_t dst, uint32_t group, uint32_t scale_index, const uint32_t* table,
                               uint32_t entries, uint32_t line);
void vd_welford_save(uint32_t dst, uint32_t line);
void vd_welford_restore(uint32_t dst, uint32_t line);
void vd_random_init(uint32_t op, uint32_t seed, uint32_t line);
void vd_rand_tile(uint32_t dst, uint32_t from, uint32_t scale, uint32_t line);
void vd_dropout_tile(uint32_t dst, uint32_t probability, uint32_t scale, uint32_t line);
void vd_sfpu_reduce(uint32_t pool, uint32_t dim, uint32_t format, uint32_t dst, uint32_t line);
void vd_topk_local_sort(uint32_t dst, bool ascending, uint32_t first_phase, uint32_t last_phase, uint32_t first_step,
                        uint32_t last_step, bool stable, uint32_t line);
void vd_topk_merge(uint32_t dst, uint32_t round, uint32_t k, bool smallest, uint32_t line);
void vd_topk_rebuild(uint32_t dst, bool ascending, uint32_t round, uint32_t k, uint32_t log_k, bool first_alone,
                     bool stable, uint32_t line);

// Elements of a tile of a circular buffer as text: rows h0 to h1 by hs, columns w0 to w1 by ws.
enum VdSliceEnd : uint8_t { VD_SLICE_FRONT, VD_SLICE_BACK, VD_SLICE_EITHER };
void vd_tile_slice(uint32_t cb, uint32_t tile, const uint8_t* range, VdSliceEnd end, bool rows, bool untilized,
                   uint32_t most_bytes, char* out, uint32_t size);

// Semaphores between the compute processors of a core.
void vd_processor_semaphore_init(uint32_t index, uint32_t value, uint32_t most, uint32_t line);
void vd_processor_semaphore_post(uint32_t index, uint32_t line);
void vd_processor_semaphore_get(uint32_t index, uint32_t line);
void vd_processor_semaphore_wait(uint32_t index, bool while_full, uint32_t line);

// Words between processors of a core. `whose`, `from` and `to` are numbers of ckernel::ThreadId.
uint32_t vd_mailbox_read(uint32_t whose, uint32_t from, uint32_t line);
void vd_mailbox_write(uint32_t whose, uint32_t to, uint32_t word, uint32_t line);
bool vd_mailbox_has(uint32_t whose, uint32_t from, uint32_t line);

// A zone of the profiler begins or ends.
void vd_zone(const char* name, bool begins, uint32_t line);

// Stops the run: a condition that the kernel asserts does not hold.
[[noreturn]] void vd_assert_failed(const char* condition, uint32_t line);

// Stops the run: the name exists in the SDK but not in this device.
[[noreturn]] void vd_unimplemented(const char* name, uint32_t line);

}  // extern "C"
