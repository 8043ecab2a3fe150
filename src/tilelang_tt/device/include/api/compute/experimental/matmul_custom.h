// Block products without a macro operation: the same numbers, and an init of their own.
#pragma once

#include "api/compute/common.h"
#include "vd/compute.h"
#include "vd/missing.h"

namespace ckernel {

template <auto...>
ALWI void mm_no_mop_init_short(uint32_t in0, uint32_t in1, bool transpose = false, uint32_t ct_dim = 1,
                               uint32_t rt_dim = 1, uint32_t kt_dim = 1, VD_LINE) {
    vd_matmul_init(in0, in1, vd::Product::BlockNoMop, transpose, ct_dim, rt_dim, kt_dim, line);
}
template <auto...>
ALWI void mm_no_mop_reinit_short(uint32_t in0, uint32_t in1, bool transpose = false, uint32_t ct_dim = 1,
                                 uint32_t rt_dim = 1, uint32_t kt_dim = 1, VD_LINE) {
    vd_matmul_init(in0, in1, vd::Product::BlockNoMop, transpose, ct_dim, rt_dim, kt_dim, line);
}
template <auto...>
ALWI void matmul_block_no_mop(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t idst, bool transpose,
                              uint32_t ct_dim, uint32_t rt_dim, uint32_t kt_dim, VD_LINE) {
    vd_matmul(in0, in1, tile0, tile1, idst, vd::Product::BlockNoMop, transpose, ct_dim, rt_dim, kt_dim, line);
}

VD_MISSING(mm_no_mop_init_short_fidelity)
VD_MISSING(matmul_block_no_mop_fidelity)
VD_MISSING(mm_no_mop_reinit_short_fidelity)

}  // namespace ckernel
