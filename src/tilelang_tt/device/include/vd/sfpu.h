// Rows for vector-unit headers: an init and a call per operation, both named as in the SDK.
//
// Every function takes template arguments it does not use (`auto...`): the SDK's releases differ in how many there are,
// and the DST width they carry is known to the runner. `fast` is the SDK's approximate variant.
#pragma once

#include "vd/compute.h"

namespace vd {

// A template argument that is a flag in one release and an enumeration in the other; only the flag has a variant.
template <typename T>
constexpr bool flag(T) {
    return false;
}
constexpr bool flag(bool value) { return value; }

}  // namespace vd

#define VD_INIT(NAME, OP)                            \
    template <auto...>                               \
    ALWI void NAME(VD_LINE) {                        \
        const vd::SfpuCall call{vd::Sfpu::OP, 0, {}, {}}; \
        vd_sfpu_init(&call, line);                   \
    }
#define VD_UNARY(NAME, OP)                                           \
    template <auto...>                                               \
    ALWI void NAME(uint32_t idst, VD_LINE) {                         \
        const vd::SfpuCall call{vd::Sfpu::OP, idst, {idst, 0, 0}, {}}; \
        vd_sfpu(&call, line);                                        \
    }
// Parameters are bit patterns: of fp32 numbers, or integers.
#define VD_UNARY1(NAME, OP)                                                        \
    template <auto...>                                                             \
    ALWI void NAME(uint32_t idst, uint32_t param0, VD_LINE) {                      \
        const vd::SfpuCall call{vd::Sfpu::OP, idst, {idst, 0, 0}, {param0, 0, 0}}; \
        vd_sfpu(&call, line);                                                      \
    }
#define VD_UNARY2(NAME, OP)                                                             \
    template <auto...>                                                                  \
    ALWI void NAME(uint32_t idst, uint32_t param0, uint32_t param1, VD_LINE) {          \
        const vd::SfpuCall call{vd::Sfpu::OP, idst, {idst, 0, 0}, {param0, param1, 0}}; \
        vd_sfpu(&call, line);                                                           \
    }
#define VD_UNARY3(NAME, OP)                                                                     \
    template <auto...>                                                                          \
    ALWI void NAME(uint32_t idst, uint32_t param0, uint32_t param1, uint32_t param2, VD_LINE) { \
        const vd::SfpuCall call{vd::Sfpu::OP, idst, {idst, 0, 0}, {param0, param1, param2}};    \
        vd_sfpu(&call, line);                                                                   \
    }
#define VD_BINARY(NAME, OP)                                                   \
    template <auto...>                                                        \
    ALWI void NAME(uint32_t idst0, uint32_t idst1, uint32_t odst, VD_LINE) {  \
        const vd::SfpuCall call{vd::Sfpu::OP, odst, {idst0, idst1, 0}, {}};   \
        vd_sfpu(&call, line);                                                 \
    }

// NAME_tile_init and NAME_tile.
#define VD_OP(NAME, OP)           \
    VD_INIT(NAME##_tile_init, OP) \
    VD_UNARY(NAME##_tile, OP)
#define VD_OP1(NAME, OP)          \
    VD_INIT(NAME##_tile_init, OP) \
    VD_UNARY1(NAME##_tile, OP)
#define VD_OP2(NAME, OP)          \
    VD_INIT(NAME##_tile_init, OP) \
    VD_UNARY2(NAME##_tile, OP)
#define VD_BINARY_OP(NAME, OP)    \
    VD_INIT(NAME##_tile_init, OP) \
    VD_BINARY(NAME##_tile, OP)

// With the SDK's leading template flag for the approximate variant; init and call must agree on it.
#define VD_FAST_OP(NAME, OP, DEFAULT)                                                                             \
    template <bool fast = DEFAULT, auto...>                                                                       \
    ALWI void NAME##_tile_init(VD_LINE) {                                                                         \
        const vd::SfpuCall call{vd::Sfpu::OP, 0, {}, {}, DataFormat::Invalid, fast};                              \
        vd_sfpu_init(&call, line);                                                                                \
    }                                                                                                             \
    template <bool fast = DEFAULT, auto...>                                                                       \
    ALWI void NAME##_tile(uint32_t idst, VD_LINE) {                                                               \
        const vd::SfpuCall call{vd::Sfpu::OP, idst, {idst, 0, 0}, {}, DataFormat::Invalid, fast};                 \
        vd_sfpu(&call, line);                                                                                     \
    }

// The same operation on the pack processor, between tile_regs_wait and tile_regs_release.
#define VD_PACK_INIT(NAME, OP)                                                                    \
    template <bool fast = false, auto...>                                                         \
    ALWI void NAME(VD_LINE) {                                                                     \
        const vd::SfpuCall call{vd::Sfpu::OP, 0, {}, {}, DataFormat::Invalid, fast, true};        \
        vd_sfpu_init(&call, line);                                                                \
    }
#define VD_PACK_OP(NAME, OP)                                                                            \
    VD_PACK_INIT(NAME##_tile_init_pack, OP)                                                             \
    template <bool fast = false, auto...>                                                               \
    ALWI void NAME##_tile_pack(uint32_t idst, VD_LINE) {                                                \
        const vd::SfpuCall call{vd::Sfpu::OP, idst, {idst, 0, 0}, {}, DataFormat::Invalid, fast, true}; \
        vd_sfpu(&call, line);                                                                           \
    }

// Integer forms name their format in the first template argument.
#define VD_INT_BINARY(NAME, OP)                                                      \
    template <DataFormat format, auto...>                                            \
    ALWI void NAME(uint32_t idst0, uint32_t idst1, uint32_t odst, VD_LINE) {         \
        const vd::SfpuCall call{vd::Sfpu::OP, odst, {idst0, idst1, 0}, {}, format};  \
        vd_sfpu(&call, line);                                                        \
    }
#define VD_INT_UNARY1(NAME, OP)                                                            \
    template <DataFormat format, auto...>                                                  \
    ALWI void NAME(uint32_t idst, uint32_t param0, VD_LINE) {                              \
        const vd::SfpuCall call{vd::Sfpu::OP, idst, {idst, 0, 0}, {param0, 0, 0}, format}; \
        vd_sfpu(&call, line);                                                              \
    }
#define VD_TERNARY(NAME, OP)                                                                     \
    template <DataFormat format, auto...>                                                        \
    ALWI void NAME(uint32_t idst0, uint32_t idst1, uint32_t idst2, uint32_t odst, VD_LINE) {     \
        const vd::SfpuCall call{vd::Sfpu::OP, odst, {idst0, idst1, idst2}, {}, format};          \
        vd_sfpu(&call, line);                                                                    \
    }
#define VD_TERNARY1(NAME, OP)                                                                                \
    template <DataFormat format, auto...>                                                                    \
    ALWI void NAME(uint32_t idst0, uint32_t idst1, uint32_t idst2, uint32_t odst, uint32_t value, VD_LINE) { \
        const vd::SfpuCall call{vd::Sfpu::OP, odst, {idst0, idst1, idst2}, {value, 0, 0}, format};           \
        vd_sfpu(&call, line);                                                                                \
    }
