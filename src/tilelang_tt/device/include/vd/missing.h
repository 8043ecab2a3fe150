// Names the SDK declares and this device does not have: they compile with any arguments and stop the run when called.
#pragma once

#include "vd/kernel.h"

namespace vd {

struct Anything {
    constexpr Anything() = default;
    template <typename T>
    constexpr Anything(const T&) {}
};

// What such a call "returns": fits wherever the value would be used, since nothing is ever returned.
struct Nothing {
    template <typename T>
    operator T() const {
        __builtin_unreachable();
    }
};

}  // namespace vd

#define VD_MISSING(NAME)                                                                                      \
    template <auto...>                                                                                        \
    ALWI vd::Nothing NAME(vd::Anything = {}, vd::Anything = {}, vd::Anything = {}, vd::Anything = {},         \
                          vd::Anything = {}, vd::Anything = {}, vd::Anything = {}, vd::Anything = {},         \
                          vd::Anything = {}, vd::Anything = {}, vd::Anything = {}, vd::Anything = {}, VD_LINE) { \
        vd_unimplemented(#NAME, line);                                                                        \
    }

// The same for a method.
#define VD_MISSING_METHOD(NAME)                                                                               \
    vd::Nothing NAME(vd::Anything = {}, vd::Anything = {}, vd::Anything = {}, vd::Anything = {}, VD_LINE) const { \
        vd_unimplemented(#NAME, line);                                                                        \
    }
