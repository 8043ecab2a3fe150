// Base of every compute header: the three thread macros and the modes of the kernel.
//
// On the chip one source is compiled for the unpack, math and pack processors; here one fiber runs all
// three in program order, so every guarded expression is executed.
#pragma once

#include "vd/kernel.h"

#define UNPACK(...) __VA_ARGS__
#define MATH(...) __VA_ARGS__
#define PACK(...) __VA_ARGS__

constexpr bool DST_ACCUM_MODE = VD_FP32_DEST_ACC;
constexpr bool APPROX = VD_MATH_APPROX;

enum class VectorMode : uint8_t { None = 0, R = 1, C = 2, RC = 4, RC_custom = 6 };
enum class SrcOrder : uint8_t { Regular = 0, Reverse = 1 };

namespace ckernel {
using ::SrcOrder;
using ::VectorMode;
}  // namespace ckernel

namespace vd {

ALWI void require_whole_tile(VectorMode mode, const char* name, uint32_t line) {
    if (mode != VectorMode::RC) {
        vd_unimplemented(name, line);
    }
}

}  // namespace vd
