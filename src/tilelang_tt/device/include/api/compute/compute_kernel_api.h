// Vector-unit operations that live in the SDK's general header.
#pragma once

#include "vd/compute.h"
#include "vd/missing.h"
#include "vd/sfpu.h"
#include "vd/missing_names.h"

namespace vd {

// Kernels that sort 16-bit integers in a 32-bit DST say so by a macro of the program.
inline void refuse_uint16_in_wide_dst(uint32_t line) {
#if defined(TOPK_UINT16_FP32_DEST) && TOPK_UINT16_FP32_DEST
    vd_unimplemented("topk of 16-bit integers in a 32-bit DST", line);
#endif
    (void)line;
}

}  // namespace vd

namespace ckernel {

template <bool fast = false>
ALWI void sigmoid_tile_init(VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Sigmoid, 0, {}, {}, DataFormat::Invalid, fast};
    vd_sfpu_init(&call, line);
}
template <VectorMode mode = VectorMode::RC, bool fast = false, auto...>
ALWI void sigmoid_tile(uint32_t idst, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Sigmoid, idst, {idst, 0, 0}, {}, DataFormat::Invalid, fast, false, mode};
    vd_sfpu(&call, line);
}
VD_PACK_INIT(sigmoid_tile_init_pack, Sigmoid)
template <VectorMode mode = VectorMode::RC, bool fast = false, auto...>
ALWI void sigmoid_tile_pack(uint32_t idst, VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Sigmoid, idst, {idst, 0, 0}, {}, DataFormat::Invalid, fast, true, mode};
    vd_sfpu(&call, line);
}
VD_OP(silu, Silu)
VD_PACK_OP(silu, Silu)
VD_FAST_OP(tanh, Tanh, false)
VD_PACK_OP(tanh, Tanh)
VD_OP(square, Square)
VD_FAST_OP(log, Log, false)
template <bool fast = false, auto...>
ALWI void log_with_base_tile_init(VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::LogWithBase, 0, {}, {}, DataFormat::Invalid, fast};
    vd_sfpu_init(&call, line);
}
template <bool fast = false, auto...>
ALWI void log_with_base_tile(uint32_t idst, uint32_t base_scale, VD_LINE) {
    const vd::SfpuCall call{
        vd::Sfpu::LogWithBase, idst, {idst, 0, 0}, {base_scale, 0, 0}, DataFormat::Invalid, fast};
    vd_sfpu(&call, line);
}
VD_OP(signbit, Signbit)
VD_INIT(signbit_tile_int32_init, SignbitInt)
VD_UNARY(signbit_tile_int32, SignbitInt)
VD_OP(abs, Abs)
VD_UNARY(abs_tile_int32, AbsInt)
VD_OP(sign, Sign)
VD_OP1(power, Power)
VD_OP1(power_iterative, PowerIterative)
VD_OP(exp2, Exp2)
VD_OP1(heaviside, Heaviside)
VD_FAST_OP(expm1, Expm1, false)
VD_OP1(unary_max, UnaryMax)
VD_OP1(unary_max_int32, UnaryMaxInt)
VD_OP1(unary_max_uint32, UnaryMaxUint)
VD_OP1(unary_min, UnaryMin)
VD_OP1(unary_min_int32, UnaryMinInt)
VD_OP1(unary_min_uint32, UnaryMinUint)

template <PoolType pool, DataFormat format, auto...>
ALWI void sfpu_reduce_init(VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Reduce, 0, {}, {static_cast<uint32_t>(pool), 0, 0}, format};
    vd_sfpu_init(&call, line);
}
template <PoolType pool, DataFormat format, ReduceDim dim = ReduceDim::REDUCE_COL, auto...>
ALWI void sfpu_reduce(uint32_t idst, uint32_t ct_dim = 1, uint32_t rt_dim = 1, VD_LINE) {
    if (ct_dim != 1 || rt_dim != 1) vd_unimplemented("sfpu_reduce of several tiles", line);
    vd_sfpu_reduce(static_cast<uint32_t>(pool), static_cast<uint32_t>(dim), static_cast<uint32_t>(format), idst, line);
}

// Columns of tiles 0 and 1 are sorted, and those of tiles 2 and 3, their indices, with them.
VD_INIT(topk_tile_init, TopK)
template <bool stable = false>
ALWI void topk_local_sort(uint32_t idst, int idir, int i_end_phase, int i_start_phase = 0, int i_end_step = 0,
                          int i_start_step = 0, VD_LINE) {
    vd::refuse_uint16_in_wide_dst(line);
    vd_topk_local_sort(idst, idir != 0, static_cast<uint32_t>(i_start_phase), static_cast<uint32_t>(i_end_phase),
                       static_cast<uint32_t>(i_start_step), static_cast<uint32_t>(i_end_step), stable, line);
}
template <bool idir = false, bool stable = false>
ALWI void topk_merge(uint32_t idst, int m_iter, int k, VD_LINE) {
    vd::refuse_uint16_in_wide_dst(line);
    vd_topk_merge(idst, static_cast<uint32_t>(m_iter), static_cast<uint32_t>(k), idir, line);
}
template <bool stable = false>
ALWI void topk_rebuild(uint32_t idst, bool idir, int m_iter, int k, int logk, int skip_second, VD_LINE) {
    vd::refuse_uint16_in_wide_dst(line);
    vd_topk_rebuild(idst, idir, static_cast<uint32_t>(m_iter), static_cast<uint32_t>(k), static_cast<uint32_t>(logk),
                    (skip_second & 1) != 0, stable, line);
}
ALWI void topk_uint16_prepare_value_tile_for_pack(uint32_t, VD_LINE) { vd::refuse_uint16_in_wide_dst(line); }

VD_MISSING(tiled_prod_tile)
VD_MISSING(tiled_prod_tile_init)
VD_MISSING(max_reduce_with_indices)
VD_MISSING(max_reduce_with_indices_init)
VD_MISSING(alt_complex_rotate90_tile)
VD_MISSING(alt_complex_rotate90_tile_init)
VD_MISSING(get_compute_special_value_flags)
VD_MISSING(get_compute_special_value_flags_fpu)
VD_MISSING(get_compute_special_value_flags_sfpu)
VD_MISSING(clear_compute_special_value_flags)

}  // namespace ckernel
