// The layer below the compute API, as far as kernels call it themselves. There each processor has a call of its own; here
// one of them carries the meaning and its partners say nothing.
#pragma once

#include "vd/compute.h"

enum class p_dim_stride_target { IGNORE, FACE_ROW_MAJOR };

namespace ckernel {

enum class DataCopyType : uint8_t { A2D, B2D };
enum class PackMode : uint8_t { Default, Untilize, Tilize };
constexpr bool UnpackToDestEn = true, UnpackToDestDis = false;

// ---- packer ----------------------------------------------------------------------------------------
ALWI void llk_pack_reconfig_l1_acc(uint32_t enable, VD_LINE) { vd_pack_l1_acc(enable, line); }
ALWI void llk_pack_relu_config(const ReluConfig& config, VD_LINE) {
    vd_pack_relu(static_cast<uint32_t>(config.mode), config.threshold, line);
}
ALWI void llk_pack_relu_config(uint32_t packed, VD_LINE) {
    const ReluConfig config = ReluConfig::from_packed(packed);
    vd_pack_relu(static_cast<uint32_t>(config.mode), config.threshold, line);
}
template <auto...>
ALWI void llk_pack_hw_configure(uint32_t cb, VD_LINE) {
    vd_reconfig_pack(cb, line);
}
template <auto...>
ALWI void llk_pack_init(uint32_t cb, VD_LINE) {
    vd_reconfig_pack(cb, line);
    vd_pack_width(cb, 1, line);
}
template <auto...>
ALWI void llk_pack_init(uint32_t cb, uint32_t tiles, VD_LINE) {
    vd_pack_width(cb, tiles, line);
}
template <bool wide_dst, bool out_of_order, auto...>
ALWI void llk_pack(uint32_t idst, uint32_t cb, uint32_t index = 0, VD_LINE) {
    vd_pack_tile(idst, cb, out_of_order, index, line);
}

template <ReduceDim dim, auto...>
ALWI void llk_pack_reduce_mask_config(uint32_t, VD_LINE) {
    vd_pack_reduce_mask(static_cast<uint32_t>(dim), line);
}
template <auto...>
ALWI void llk_pack_reduce_mask_clear(uint32_t = 0, VD_LINE) {
    vd_reduce_uninit(line);
}

// ---- source registers ------------------------------------------------------------------------------
template <auto...>
ALWI void llk_unpack_reconfig_data_format_srca(uint32_t before, uint32_t after, VD_LINE) {
    vd_switch_srca(before, after, line);
}
template <auto...>
ALWI void llk_math_reconfig_data_format_srca(uint32_t, uint32_t) {}
template <auto...>
ALWI void llk_unpack_reconfig_data_format_srcb(uint32_t before, uint32_t after, VD_LINE) {
    vd_switch_srcb(before, after, line);
}
template <auto...>
ALWI void llk_math_reconfig_data_format_srcb(uint32_t, uint32_t) {}

template <auto...>
ALWI void llk_unpack_reconfig_data_format(uint32_t before0, uint32_t after0, uint32_t before1, uint32_t after1, VD_LINE) {
    vd_switch_srca(before0, after0, line);
    vd_switch_srcb(before1, after1, line);
}
template <auto...>
ALWI void llk_math_reconfig_data_format(uint32_t, uint32_t, uint32_t, uint32_t) {}

// ---- inits of operations ---------------------------------------------------------------------------
template <EltwiseBinaryType type, BroadcastType broadcast, auto...>
ALWI void llk_math_eltwise_binary_init(uint32_t icb0, uint32_t icb1, uint32_t accumulate = 0, VD_LINE) {
    vd_binary_init(vd::number(type), vd::number(broadcast), icb0, icb1, accumulate != 0, line);
}
template <auto...>
ALWI void llk_unpack_AB_init(uint32_t, uint32_t, uint32_t = 0) {}
template <PoolType pool, ReduceDim dim, auto...>
ALWI void llk_math_reduce_init(uint32_t icb, uint32_t icb_scaler, VD_LINE) {
    vd_reduce_reinit(static_cast<uint32_t>(pool), static_cast<uint32_t>(dim), icb, icb_scaler, line);
}
template <auto...>
ALWI void llk_unpack_AB_reduce_init(uint32_t, uint32_t) {}
template <auto...>
ALWI void llk_unpack_A_init(uint32_t transpose_of_faces, uint32_t within_face_16x16_transpose, uint32_t cb, VD_LINE) {
    vd_copy_init(cb, transpose_of_faces != 0, within_face_16x16_transpose != 0, line);
}
template <auto...>
ALWI void llk_math_eltwise_unary_datacopy_init(uint32_t) {}

}  // namespace ckernel
