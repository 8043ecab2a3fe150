// Names every kernel may use whatever its processor: compile-time arguments, CB ids and sizes.
//
// The launcher's generated prefix defines KERNEL_COMPILE_TIME_ARGS, VD_TILE_SIZES, VD_DATA_FORMATS and
// VD_MEM_ZEROS_BASE, which is how they can be constants inside the kernel. VD_LEAN: the kernel uses nothing of the standard
// library, of printing and of the names that this device does not have, whose headers take longer than a small kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#ifndef VD_LEAN
#include <limits>
#endif

#include "internal/mod_div_lib.h"
#include "vd/abi.h"
#include "vd/ops.h"
#include "vd/profiler.h"

#define ALWI inline __attribute__((always_inline))
#define FORCE_INLINE inline __attribute__((always_inline))
#define tt_l1_ptr
#define tt_reg_ptr

#define VD_LINE vd::Line line = vd::Line::here()

using uint = unsigned int;

namespace vd {

// The line of a call, its last and invisible argument. Nothing a kernel passes converts to it, so an argument
// this device does not know is a compile error and never taken for a line.
class Line {
public:
    static constexpr Line here(int line = __builtin_LINE()) { return Line(line, 0); }
    constexpr operator uint32_t() const { return number_; }

private:
    constexpr Line(int line, int) : number_(static_cast<uint32_t>(line)) {}
    uint32_t number_;
};

template <std::size_t N>
struct Words {
    uint32_t at[N == 0 ? 1 : N];
};

template <class... Ts>
constexpr Words<sizeof...(Ts)> words(Ts... values) {
    return {{static_cast<uint32_t>(values)...}};
}

template <std::size_t N>
constexpr std::size_t count(const Words<N>&) {
    return N;
}

constexpr auto compile_time_args = words(KERNEL_COMPILE_TIME_ARGS);
constexpr uint32_t tile_sizes[] = {VD_TILE_SIZES};
constexpr uint8_t data_formats[] = {VD_DATA_FORMATS};

}  // namespace vd

template <uint32_t index>
constexpr uint32_t get_ct_arg() {
    static_assert(index < vd::count(vd::compile_time_args), "compile-time argument index out of range");
    return vd::compile_time_args.at[index];
}
#define get_compile_time_arg_val(index) get_ct_arg<index>()
constexpr auto& kernel_compile_time_args = vd::compile_time_args.at;

constexpr int32_t get_tile_size(int32_t cb) { return static_cast<int32_t>(vd::tile_sizes[cb]); }
constexpr DataFormat get_dataformat(int32_t cb) { return static_cast<DataFormat>(vd::data_formats[cb]); }

namespace vd {

struct NamedArg {
    const char* name;
    uint32_t value;
};
constexpr NamedArg named_compile_time_args[] = {VD_NAMED_COMPILE_TIME_ARGS {nullptr, 0}};

void no_compile_time_argument_of_this_name();  // never defined: not a constant expression, which is the error

constexpr bool same_text(const char* left, const char* right) {
    while (*left && *left == *right) ++left, ++right;
    return *left == *right;
}

}  // namespace vd

constexpr uint32_t get_named_compile_time_arg_val(const char* name) {
    for (const vd::NamedArg& arg : vd::named_compile_time_args) {
        if (arg.name && vd::same_text(arg.name, name)) return arg.value;
    }
    vd::no_compile_time_argument_of_this_name();
    return 0;
}

template <typename T>
FORCE_INLINE T get_arg_val(int index, VD_LINE) {
    static_assert(sizeof(T) == 4, "runtime arguments have 4 bytes");
    const uint32_t bits = vd_arg(static_cast<uint32_t>(index), line);
    T value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T>
FORCE_INLINE T get_common_arg_val(int index, VD_LINE) {
    static_assert(sizeof(T) == 4, "runtime arguments have 4 bytes");
    const uint32_t bits = vd_common_arg(static_cast<uint32_t>(index), line);
    T value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

// Where the arguments lie in L1.
FORCE_INLINE uintptr_t get_arg_addr(int index, VD_LINE) {
    return vd_arg_addr(static_cast<uint32_t>(index), false, line);
}
FORCE_INLINE uintptr_t get_common_arg_addr(int index, VD_LINE) {
    return vd_arg_addr(static_cast<uint32_t>(index), true, line);
}

// X of every circular buffer id, separated by commas.
#define VD_EIGHT(X, a, b, c, d, e, f, g, h) X(a), X(b), X(c), X(d), X(e), X(f), X(g), X(h)
#define VD_EACH_CB(X)                                                                                  \
    VD_EIGHT(X, 0, 1, 2, 3, 4, 5, 6, 7), VD_EIGHT(X, 8, 9, 10, 11, 12, 13, 14, 15),                    \
        VD_EIGHT(X, 16, 17, 18, 19, 20, 21, 22, 23), VD_EIGHT(X, 24, 25, 26, 27, 28, 29, 30, 31),      \
        VD_EIGHT(X, 32, 33, 34, 35, 36, 37, 38, 39), VD_EIGHT(X, 40, 41, 42, 43, 44, 45, 46, 47),      \
        VD_EIGHT(X, 48, 49, 50, 51, 52, 53, 54, 55), VD_EIGHT(X, 56, 57, 58, 59, 60, 61, 62, 63)

#define VD_CB(n) c_##n = n
#define VD_OLD_CB(name) name
namespace tt {
enum CBIndex : uint8_t {
    VD_EACH_CB(VD_CB),
    SIZE = 64,
};
using ::DataFormat;
// The older names of the ids: inputs, outputs and intermediate results of compute.
enum CB : uint8_t {
    VD_EIGHT(VD_OLD_CB, c_in0, c_in1, c_in2, c_in3, c_in4, c_in5, c_in6, c_in7),
    VD_EIGHT(VD_OLD_CB, dataflow0, dataflow1, dataflow2, dataflow3, dataflow4, dataflow5, dataflow6, dataflow7),
    VD_EIGHT(VD_OLD_CB, c_out0, c_out1, c_out2, c_out3, c_out4, c_out5, c_out6, c_out7),
    VD_EIGHT(VD_OLD_CB, c_intermed0, c_intermed1, c_intermed2, c_intermed3, c_intermed4, c_intermed5, c_intermed6,
             c_intermed7),
};
}  // namespace tt
#undef VD_CB
#undef VD_OLD_CB

// What the SDK's build knows of each buffer: its number in L1, its size in tiles.
namespace vd {
#ifdef VD_TILE_SHAPES  // rows, columns of every buffer, where some are not 32 x 32
constexpr uint8_t tile_shapes[] = {VD_TILE_SHAPES};
constexpr uint8_t tile_rows(uint32_t cb) { return tile_shapes[2 * cb]; }
constexpr uint8_t tile_cols(uint32_t cb) { return tile_shapes[2 * cb + 1]; }
#else
constexpr uint8_t tile_rows(uint32_t) { return 32; }
constexpr uint8_t tile_cols(uint32_t) { return 32; }
#endif
constexpr uint8_t face_rows(uint32_t cb) { return tile_rows(cb) < 16 ? tile_rows(cb) : 16; }
constexpr uint8_t faces(uint32_t cb) { return (tile_rows(cb) > 16 ? 2 : 1) * (tile_cols(cb) > 16 ? 2 : 1); }
constexpr uint8_t has_part_of_face(uint32_t cb) { return tile_rows(cb) < 16; }
constexpr uint8_t is_narrow(uint32_t cb) { return tile_cols(cb) < 32; }

template <uint8_t (*of)(uint32_t)>
struct OfEveryCb {
    constexpr uint8_t operator[](uint32_t cb) const { return of(cb); }
};
}  // namespace vd
constexpr auto& unpack_src_format = vd::data_formats;
constexpr auto& unpack_dst_format = vd::data_formats;
constexpr auto& pack_src_format = vd::data_formats;
constexpr auto& pack_dst_format = vd::data_formats;
constexpr auto& unpack_tile_size = vd::tile_sizes;
constexpr auto& pack_tile_size = vd::tile_sizes;
constexpr vd::OfEveryCb<vd::tile_rows> unpack_tile_r_dim, pack_tile_r_dim;
constexpr vd::OfEveryCb<vd::tile_cols> unpack_tile_c_dim, pack_tile_c_dim;
constexpr vd::OfEveryCb<vd::face_rows> unpack_tile_face_r_dim, pack_tile_face_r_dim;
constexpr vd::OfEveryCb<vd::faces> unpack_tile_num_faces, pack_tile_num_faces;
constexpr vd::OfEveryCb<vd::has_part_of_face> unpack_partial_face, pack_partial_face;
constexpr vd::OfEveryCb<vd::is_narrow> unpack_narrow_tile, pack_narrow_tile;

constexpr uint32_t get_tile_hw(int32_t cb) {
    return uint32_t{vd::tile_rows(static_cast<uint32_t>(cb))} * vd::tile_cols(static_cast<uint32_t>(cb));
}
constexpr uint32_t get_tile_num_faces(int32_t cb) { return vd::faces(static_cast<uint32_t>(cb)); }

ALWI void cb_reserve_back(uint32_t cb, uint32_t pages, VD_LINE) { vd_cb_reserve_back(cb, pages, line); }
ALWI void cb_push_back(uint32_t cb, uint32_t pages, VD_LINE) { vd_cb_push_back(cb, pages, line); }
ALWI void cb_wait_front(uint32_t cb, uint32_t pages, VD_LINE) { vd_cb_wait_front(cb, pages, line); }
ALWI void cb_pop_front(uint32_t cb, uint32_t pages, VD_LINE) { vd_cb_pop_front(cb, pages, line); }
