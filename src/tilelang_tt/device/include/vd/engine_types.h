// Types of the engines that the SDK's build makes known to every kernel.
#pragma once

#include "vd/ops.h"

namespace ckernel {

enum class DstSync : uint8_t { SyncHalf = 0, SyncFull = 2 };
enum class MathFidelity : uint8_t { LoFi = 0, HiFi2 = 2, HiFi3 = 3, HiFi4 = 4 };

// Loads a word of L1 before the processor goes on.
template <typename T>
inline T load_blocking(const volatile T* pointer) {
    return *pointer;
}

}  // namespace ckernel
using ckernel::DstSync;
using ckernel::MathFidelity;
