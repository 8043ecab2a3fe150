// Every function of the SDK's compute headers (ttnn 0.77 through 0.81) that this device does not have.
#pragma once

#ifndef VD_LEAN

#include "vd/compute.h"
#include "vd/missing.h"

namespace ckernel {

// api/compute/clamped_silu_glu.h
VD_MISSING(clamped_silu_glu_tile)
VD_MISSING(clamped_silu_glu_tile_init)

// api/compute/compute_kernel_api.h
VD_MISSING(sfpu_add_top_row)
VD_MISSING(sfpu_add_top_row_init)
VD_MISSING(dbg_halt)
VD_MISSING(dbg_unhalt)
VD_MISSING(dbg_read_dest_acc_row)

// api/compute/compute_kernel_api_debug.h
VD_MISSING(dbg_read_dest_tile)
VD_MISSING(dbg_write_dest_tile)

// api/compute/debug/cb_hash.h
VD_MISSING(hash_cb_trisc)
VD_MISSING(hash_cb_sfpu)

// api/compute/eltwise_unary/sfpu_int_sum.h
VD_MISSING(sfpu_sum_int_init)
VD_MISSING(sfpu_sum_int_col)
VD_MISSING(sfpu_sum_int_row)
VD_MISSING(sfpu_add_int)

// api/compute/ema.h
VD_MISSING(ema_init)
VD_MISSING(ema_clear_previous_output)
VD_MISSING(ema_tile)

// api/compute/matmul.h
VD_MISSING(mm_uninit)

// api/compute/nextafter.h
VD_MISSING(nextafter_binary_tile)
VD_MISSING(nextafter_binary_tile_init)
VD_MISSING(nextafter_bf16_binary_tile)
VD_MISSING(nextafter_bf16_binary_tile_init)

// api/compute/quantization.h
VD_MISSING(quant_int8_tile)
VD_MISSING(requant_int8_tile)
VD_MISSING(requant_int8_in_tile)
VD_MISSING(requant_int8_in_int8_out_tile)
VD_MISSING(dequant_int8_tile)
VD_MISSING(quant_int8_tile_init)
VD_MISSING(requant_int8_tile_init)
VD_MISSING(requant_int8_in_tile_init)
VD_MISSING(requant_int8_in_uint8_out_tile_init)
VD_MISSING(requant_int8_in_int8_out_tile_init)
VD_MISSING(dequant_int8_tile_init)

// api/compute/reshuffle.h
VD_MISSING(reshuffle_rows_tile)
VD_MISSING(reshuffle_rows_tile_init)

// api/compute/sfpu_binary_bcast.h
VD_MISSING(sfpu_normalize_bcast_col)
VD_MISSING(sfpu_normalize_bcast_col_two_tiles)
VD_MISSING(sfpu_residual_normalize_bcast_col)
VD_MISSING(sfpu_normalize_bcast_scalar_init)
VD_MISSING(sfpu_normalize_bcast_scalar)

// api/compute/situ_glu.h
VD_MISSING(situ_glu_tile)
VD_MISSING(situ_glu_tile_init)

// api/compute/topk.h
VD_MISSING(topk_fuse_tile)
VD_MISSING(topk_defuse_tile)
VD_MISSING(topk_stamp_local_positions)
VD_MISSING(topk_stamp_tile_rank_range)
VD_MISSING(topk_canonicalize_negzero_values)
VD_MISSING(topk_strip_rank_tags)
VD_MISSING(topk_finalize_uint16_indices)
VD_MISSING(topk_uint16_move_dest_tile_to_pack_half)

// api/compute/triangle_solve.h
VD_MISSING(triangle_solve_tile)
VD_MISSING(triangle_solve_tile_init)

// api/compute/welford.h
VD_MISSING(two_pass_stats_init_shifted)
VD_MISSING(two_pass_stats_update_rows)
VD_MISSING(two_pass_stats_update_shifted_rows)
VD_MISSING(two_pass_stats_finish_shifted_mean)
VD_MISSING(two_pass_stats_clear)
VD_MISSING(two_pass_stats_save_state)
VD_MISSING(two_pass_stats_finalize_split_mean_to_row)
VD_MISSING(two_pass_stats_save_anchor)
VD_MISSING(two_pass_stats_restore_anchor)
VD_MISSING(two_pass_stats_save_anchor_to_state)
VD_MISSING(two_pass_stats_restore_anchor_from_state)
VD_MISSING(two_pass_stats_combine_block)
VD_MISSING(two_pass_stats_finalize_to_row)
VD_MISSING(two_pass_stats_finalize_to_face)
VD_MISSING(two_pass_stats_finalize_and_combine_to_face)
VD_MISSING(two_pass_stats_switch_group)

// api/compute/experimental/add_rsqrt.h
VD_MISSING(add_rsqrt_tile_init)
VD_MISSING(add_rsqrt_tile)

// api/compute/experimental/block_max8.h
VD_MISSING(block_max8_init)
VD_MISSING(block_max8)

// api/compute/experimental/compressed_custom_mm.h
VD_MISSING(compressed_custom_mm_block_init)
VD_MISSING(compressed_custom_mm_block_init_short)
VD_MISSING(compressed_custom_mm_block)
VD_MISSING(compressed_custom_mm_block_unpack)
VD_MISSING(compressed_custom_mm_block_math)
VD_MISSING(compressed_custom_mm_block_uninit)

// api/compute/experimental/compute_kernel_hw_cleanup.h
VD_MISSING(compute_kernel_hw_cleanup)

// api/compute/experimental/csa_index_remap.h
VD_MISSING(csa_index_remap_init)
VD_MISSING(csa_index_remap)

// api/compute/experimental/custom_mm.h
VD_MISSING(custom_mm_block_init)
VD_MISSING(custom_mm_block_init_short)
VD_MISSING(custom_mm_block)
VD_MISSING(custom_mm_block_unpack)
VD_MISSING(custom_mm_block_math)
VD_MISSING(custom_mm_block_uninit)

// api/compute/experimental/custom_mm_reuse_dest_srcb.h
VD_MISSING(custom_mm_reuse_dest_srcb_pack_init)
VD_MISSING(custom_mm_reuse_dest_srcb_pack_uninit)
VD_MISSING(custom_mm_reuse_dest_srcb_replay_init)
VD_MISSING(custom_mm_reuse_dest_srcb_block_init_short)
VD_MISSING(custom_mm_reuse_dest_srcb_block)

// api/compute/experimental/custom_pack_untilize.h
VD_MISSING(configure_explicit_geometry)
VD_MISSING(pack_explicit_geometry)
VD_MISSING(custom_pack_untilize_dest_init)
VD_MISSING(custom_pack_untilize_dest)

// api/compute/experimental/deepseek_compute_kernel_hw_startup.h
VD_MISSING(deepseek_compute_kernel_init)
VD_MISSING(deepseek_compute_kernel_hw_startup)
VD_MISSING(deepseek_compute_kernel_init_present)

// api/compute/experimental/eltwise_add_scalar.h
VD_MISSING(deepseek_binary_dest_reuse_add_tiles_init)
VD_MISSING(deepseek_binary_dest_reuse_add_tiles)

// api/compute/experimental/eltwise_mul_scalar.h
VD_MISSING(deepseek_mul_bcast_scalar_init)
VD_MISSING(deepseek_mul_tiles_bcast_scalar)
VD_MISSING(deepseek_binary_dest_reuse_tiles_init)
VD_MISSING(deepseek_binary_dest_reuse_tiles)
VD_MISSING(mul_tiles_bcast_scalar_block_init)
VD_MISSING(mul_tiles_bcast_scalar_block)
VD_MISSING(deepseek_mul_tiles_bcast_scalar_init_short)

// api/compute/experimental/face_compressed_mm.h
VD_MISSING(face_compressed_mm_block_init_short)
VD_MISSING(face_compressed_mm_block)
VD_MISSING(face_compressed_mm_block_unpack)
VD_MISSING(face_compressed_mm_block_math)
VD_MISSING(face_compressed_mm_block_uninit)
VD_MISSING(pack_init_mutex_ADC)
VD_MISSING(pack_tile_mutex_ADC)

// api/compute/experimental/fast_untilize.h

// api/compute/experimental/generalized_moe_gate.h
VD_MISSING(generalized_moe_gate_init)
VD_MISSING(generalized_moe_gate_place_field_from_interm)
VD_MISSING(generalized_moe_gate_combine_finalize)
VD_MISSING(generalized_moe_gate_combine_init)
VD_MISSING(generalized_moe_gate_step2_only)
VD_MISSING(generalized_moe_gate_relocate_run)
VD_MISSING(generalized_moe_gate)

// api/compute/experimental/generic_moe_gate.h
VD_MISSING(generic_moe_gate_init)
VD_MISSING(generic_moe_gate)

// api/compute/experimental/hadamard.h
VD_MISSING(hadamard_h128_init)
VD_MISSING(hadamard_h128_tile)
VD_MISSING(hadamard_h128_uninit)
VD_MISSING(hadamard_h128_init_short)

// api/compute/experimental/indexer_mul_custom.h
VD_MISSING(mul_bcast_cols_init_short_custom)
VD_MISSING(mul_tiles_bcast_cols_custom)

// api/compute/experimental/layernorm.h
VD_MISSING(sub_bcast_cols_compensated_init)
VD_MISSING(sub_bcast_cols_compensated)

// api/compute/experimental/matmul_custom.h
VD_MISSING(matmul_set_in1_column_stride)

// api/compute/experimental/mul_reduce_scalar.h
VD_MISSING(mul_reduce_scalar_init)
VD_MISSING(mul_reduce_scalar_tile)
VD_MISSING(mul_reduce_scalar_uninit)
VD_MISSING(mul_reduce_scalar_init_fidelity)
VD_MISSING(mul_reduce_scalar_tile_fidelity)

// api/compute/experimental/pack_block.h
VD_MISSING(pack_block_contiguous_init)
VD_MISSING(pack_block_contiguous)

// api/compute/experimental/pack_rows_to_addr.h
VD_MISSING(pack_rows_to_addr_init)
VD_MISSING(pack_rows_to_addr)
VD_MISSING(pack_rows_to_addr_uninit)

// api/compute/experimental/reg_api.h
VD_MISSING(tile_regs_acquire_math_clear)
VD_MISSING(tile_regs_release_math_clear)

// api/compute/experimental/rmsnorm.h
VD_MISSING(rmsnorm_bcast_scalar_reuse_tiles_init)
VD_MISSING(rmsnorm_bcast_scalar_reuse_tiles)
VD_MISSING(rmsnorm_bcast_scalar_reuse_tiles_init_fidelity)
VD_MISSING(rmsnorm_bcast_scalar_reuse_tiles_fidelity)
VD_MISSING(rmsnorm_mul_bcast_scalar_reuse_tiles_init)
VD_MISSING(rmsnorm_mul_bcast_scalar_reuse_tiles)
VD_MISSING(mul_reduce_scalar_chunked_tile)
VD_MISSING(mul_reuse_dest_init_fidelity)
VD_MISSING(mul_reuse_dest_tiles_fidelity)
VD_MISSING(mul_bcast_scalar_init_fidelity)
VD_MISSING(mul_tiles_bcast_scalar_fidelity)

// api/compute/experimental/rope_sfpu.h
VD_MISSING(rope_sfpu_init)
VD_MISSING(rope_sfpu_inplace_rows)
VD_MISSING(rope_sfpu_inplace)
VD_MISSING(rope_sfpu_fused_init)
VD_MISSING(rope_sfpu_inplace_fused_rows)
VD_MISSING(rope_sfpu_inplace_fused)

// api/compute/experimental/sdpa.h
VD_MISSING(sdpa_bcast_col_reuse_tiles_init)
VD_MISSING(sdpa_bcast_col_reuse_preamble)
VD_MISSING(sdpa_bcast_col_reuse_postamble)
VD_MISSING(sdpa_bcast_col_reuse_tiles)
VD_MISSING(sdpa_mul_bcast_col_reuse_tiles_init)
VD_MISSING(sdpa_mul_bcast_col_reuse_tiles)
VD_MISSING(sdpa_bcast_col_srca_srcb_reuse_tiles_init)
VD_MISSING(sdpa_bcast_col_srca_srcb_reuse_preamble)
VD_MISSING(sdpa_bcast_col_srca_srcb_reuse_tiles)
VD_MISSING(sdpa_sub_bcast_col_srca_srcb_reuse_tiles_init)
VD_MISSING(sdpa_sub_bcast_col_srca_srcb_reuse_tiles)
VD_MISSING(sdpa_mul_bcast_col_srca_srcb_reuse_tiles_init)
VD_MISSING(sdpa_mul_bcast_col_srca_srcb_reuse_tiles)
VD_MISSING(sdpa_mul_bcast_col_srca_srcb_reuse_tiles_init_fidelity)
VD_MISSING(sdpa_mul_bcast_col_srca_srcb_reuse_tiles_fidelity)
VD_MISSING(sdpa_reduce_row_init)
VD_MISSING(sdpa_reduce_max_row)
VD_MISSING(sdpa_reduce_sum_row)
VD_MISSING(init_fast_approx_exp_constants)
VD_MISSING(fast_approx_exp)
VD_MISSING(non_approx_exp_mul_prev)
VD_MISSING(recip_sum)
VD_MISSING(sdpa_tail_ms_reduce)
VD_MISSING(sdpa_tail_l_block)
VD_MISSING(sdpa_tail_finalize)
VD_MISSING(sdpa_tail)

// api/compute/experimental/sdpa_custom_mm.h
VD_MISSING(sdpa_custom_mm_block_init_pack_short)
VD_MISSING(sdpa_custom_mm_block_init)
VD_MISSING(sdpa_custom_mm_block_init_short)
VD_MISSING(sdpa_custom_mm_block)
VD_MISSING(sdpa_custom_mm_block_uninit)

// api/compute/experimental/sdpa_custom_mm_reuse_dest_srcb.h
VD_MISSING(sdpa_custom_mm_reuse_dest_srcb_block_init)
VD_MISSING(sdpa_custom_mm_reuse_dest_srcb_block_init_short)
VD_MISSING(sdpa_custom_mm_reuse_dest_srcb_block)

// api/compute/experimental/sdpa_sub_custom.h

// api/compute/experimental/sdpa_weighted_reduce.h
VD_MISSING(weighted_reduce_init_short)
VD_MISSING(weighted_reduce_addrmod_init)
VD_MISSING(weighted_reduce)
VD_MISSING(weighted_reduce_pack)
VD_MISSING(weighted_reduce_uninit)

// api/compute/experimental/sinkhorn.h
VD_MISSING(sinkhorn_4x4_init)
VD_MISSING(sinkhorn_row_max_sub)
VD_MISSING(sinkhorn_4x4)

// api/compute/experimental/softmax_k.h
VD_MISSING(softmax_k_init)
VD_MISSING(softmax_k)

// api/compute/experimental/sum_reduce_scalar.h
VD_MISSING(sum_reduce_scalar_init)
VD_MISSING(sum_reduce_scalar_tile)

// api/compute/experimental/tile_move_copy_custom.h
VD_MISSING(copy_tile_custom)

// api/compute/experimental/topk_xl.h
VD_MISSING(topk_xl_local_sort)
VD_MISSING(topk_xl_merge)
VD_MISSING(topk_xl_rebuild)
VD_MISSING(topk_xl_init)
VD_MISSING(topk_xl_copy_tile_init)
VD_MISSING(topk_xl_copy_tile)
VD_MISSING(topk_xl_add_lsb_indices_init)
VD_MISSING(topk_xl_add_lsb_indices)
VD_MISSING(topk_xl_remove_msb_values_init)
VD_MISSING(topk_xl_remove_msb_values)
VD_MISSING(topk_xl_separate_indices_init)
VD_MISSING(topk_xl_separate_indices_row_major_init)
VD_MISSING(topk_xl_separate_indices_row_major_init_upper)
VD_MISSING(topk_xl_separate_indices_row_major_init_static)
VD_MISSING(topk_xl_separate_indices_row_major_reinit)
VD_MISSING(topk_xl_separate_indices)
VD_MISSING(topk_xl_separate_indices_row_major)
VD_MISSING(topk_xl_separate_indices_row_major_advance_chunk_base)
VD_MISSING(topk_xl_local_sort_generic)
VD_MISSING(topk_xl_copy_tile_init_short)
VD_MISSING(topk_xl_reinit_mop_after_copy)
VD_MISSING(topk_xl_reinit_unfused_rebuild_after_copy)
VD_MISSING(topk_xl_add_lsb_indices_rt)
VD_MISSING(topk_xl_separate_indices_row_major_global_init)
VD_MISSING(topk_xl_separate_indices_row_major_global)
VD_MISSING(topk_xl_separate_indices_row_major_global_base)

}  // namespace ckernel

#endif  // VD_LEAN
