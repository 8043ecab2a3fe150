// How a kernel calls SFPI code of its own: on the faces of one tile of DST, or on tiles it names by number.
#pragma once

#include "vd/compute.h"
#include "vd/sfpi_abi.h"

namespace vd {

// A tile of DST, and the line of the kernel that names it.
struct DstAt {
    uint32_t dst, line;
    DstAt(uint32_t dst, uint32_t line = __builtin_LINE()) : dst(dst), line(line) {}
};

template <typename Function>
ALWI void on_faces(uint32_t dst, ckernel::VectorMode mode, uint32_t line, Function function) {
    using ckernel::VectorMode;
    SfpiState& state = *vd_sfpi_begin(dst, line);
    const uint32_t first = state.face;
    const bool every = mode == VectorMode::RC || mode == VectorMode::R || mode == VectorMode::C;
    for (uint32_t face = 0; face < (every ? 4u : 1u); ++face) {
        const bool chosen = !every || mode == VectorMode::RC || (mode == VectorMode::R ? face < 2 : face % 2 == 0);
        if (!chosen) continue;
        state.face = first + face * kVectorsOfFace;
        state.step = 0;
        function();
    }
}

}  // namespace vd

template <bool = false, typename Function, typename... Args>
ALWI void _llk_math_eltwise_unary_sfpu_params_(Function&& function, vd::DstAt at, ckernel::VectorMode mode,
                                               Args&&... args) {
    vd::on_faces(at.dst, mode, at.line, [&] { function(args...); });
}
template <bool = false, typename Function, typename... Args>
ALWI void _llk_math_eltwise_binary_sfpu_params_(Function&& function, vd::DstAt in0, uint32_t in1, uint32_t out,
                                                ckernel::VectorMode mode, Args&&... args) {
    vd::on_faces(0, mode, in0.line, [&] { function(in0.dst, in1, out, args...); });
}
template <bool = false, typename Function, typename... Args>
ALWI void _llk_math_eltwise_ternary_sfpu_params_(Function&& function, vd::DstAt in0, uint32_t in1, uint32_t in2,
                                                 uint32_t out, ckernel::VectorMode mode, Args&&... args) {
    vd::on_faces(0, mode, in0.line, [&] { function(in0.dst, in1, in2, out, args...); });
}

#define VD_UNWRAP(...) __VA_ARGS__
#define SFPU_UNARY_CALL(SYNC, ACCUM, FN, TEMPLATES, ...) \
    _llk_math_eltwise_unary_sfpu_params_(::ckernel::sfpu::FN<VD_UNWRAP TEMPLATES>, __VA_ARGS__)
#define SFPU_UNARY_CALL_NO_TEMPLATE_ARGS(SYNC, ACCUM, FN, ...) \
    _llk_math_eltwise_unary_sfpu_params_(::ckernel::sfpu::FN, __VA_ARGS__)
#define SFPU_BINARY_CALL(SYNC, ACCUM, FN, TEMPLATES, ...) \
    _llk_math_eltwise_binary_sfpu_params_(::ckernel::sfpu::FN<VD_UNWRAP TEMPLATES>, __VA_ARGS__)
#define SFPU_BINARY_CALL_NO_TEMPLATE_ARGS(SYNC, ACCUM, FN, ...) \
    _llk_math_eltwise_binary_sfpu_params_(::ckernel::sfpu::FN, __VA_ARGS__)
#define SFPU_TERNARY_CALL(SYNC, ACCUM, FN, TEMPLATES, ...) \
    _llk_math_eltwise_ternary_sfpu_params_(::ckernel::sfpu::FN<VD_UNWRAP TEMPLATES>, __VA_ARGS__)
#define SFPU_TERNARY_CALL_NO_TEMPLATE_ARGS(SYNC, ACCUM, FN, ...) \
    _llk_math_eltwise_ternary_sfpu_params_(::ckernel::sfpu::FN, __VA_ARGS__)
