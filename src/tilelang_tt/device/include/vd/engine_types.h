// Types of the engines that the SDK's build makes known to every kernel.
#pragma once

#include "vd/ops.h"

namespace ckernel {

enum class DstSync : uint8_t { SyncHalf = 0, SyncFull = 2 };
enum class MathFidelity : uint8_t { LoFi = 0, HiFi2 = 2, HiFi3 = 3, HiFi4 = 4 };

constexpr uint32_t FACE_HEIGHT = 16, FACE_WIDTH = 16, TILE_HEIGHT = 32, TILE_WIDTH = 32;
constexpr uint32_t FACE_R_DIM = 16, FACE_C_DIM = 16, TILE_R_DIM = 32, TILE_C_DIM = 32, TILE_NUM_FACES = 4;

// Loads a word of L1 before the processor goes on.
template <typename T>
inline T load_blocking(const volatile T* pointer) {
    return *pointer;
}

}  // namespace ckernel
using ckernel::DstSync;
using ckernel::MathFidelity;
