// Arguments by name: `get_arg(args::rows)`. The names stand in namespaces that the build puts before the kernel
// (device/bindings.py); whether one is a runtime, common or compile-time argument shows in its type alone.
#pragma once

#include "api/compile_time_args.h"
#include "vd/kernel.h"
#ifdef COMPILE_FOR_TRISC
#include "api/compute/common.h"
#endif

// An entry point with parameters, for which the build writes kernel_main (device/entry.py).
#define TT_KERNEL static FORCE_INLINE

namespace experimental {

template <typename T>
struct RtaArg {
    uint32_t byte_offset;
};
template <typename T>
struct CrtaArg {
    uint32_t byte_offset;
};
template <typename T>
struct CtaVal {
    T value;
};

template <typename T>
FORCE_INLINE T get_arg(RtaArg<T> arg, VD_LINE) {
    return get_arg_val<T>(static_cast<int>(arg.byte_offset / sizeof(uint32_t)), line);
}
template <typename T>
FORCE_INLINE T get_arg(CrtaArg<T> arg, VD_LINE) {
    return get_common_arg_val<T>(static_cast<int>(arg.byte_offset / sizeof(uint32_t)), line);
}
template <typename T>
FORCE_INLINE constexpr T get_arg(CtaVal<T> arg) {
    return arg.value;
}

}  // namespace experimental
