// Matrix products: DST += in0 * in1, tile by tile or one K step of a block.
#pragma once

#include "api/compute/common.h"
#include "vd/compute.h"
#include "vd/missing.h"
#include "vd/missing_names.h"

namespace ckernel {

template <auto...>
ALWI void matmul_init(uint32_t in0, uint32_t in1, uint32_t transpose = 0, VD_LINE) {
    vd_matmul_init(in0, in1, vd::Product::Tiles, transpose, 1, 1, 1, line);
}
template <auto...>
ALWI void matmul_tiles(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t idst, VD_LINE) {
    vd_matmul(in0, in1, tile0, tile1, idst, vd::Product::Tiles, 0, 1, 1, 1, line);
}
template <auto...>
ALWI void matmul_block_init(uint32_t in0, uint32_t in1, uint32_t transpose = 0, uint32_t ct_dim = 1,
                            uint32_t rt_dim = 1, uint32_t kt_dim = 1, VD_LINE) {
    vd_matmul_init(in0, in1, vd::Product::Block, transpose, ct_dim, rt_dim, kt_dim, line);
}
template <auto...>
ALWI void matmul_block(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t idst, uint32_t transpose,
                       uint32_t ct_dim, uint32_t rt_dim, uint32_t kt_dim, VD_LINE) {
    vd_matmul(in0, in1, tile0, tile1, idst, vd::Product::Block, transpose, ct_dim, rt_dim, kt_dim, line);
}

VD_MISSING(matmul_block_math_dynamic_throttle)

}  // namespace ckernel
