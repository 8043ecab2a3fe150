// Names every kernel may use whatever its processor: compile-time arguments, CB ids and sizes.
//
// The launcher's generated prefix defines KERNEL_COMPILE_TIME_ARGS, VD_TILE_SIZES, VD_DATA_FORMATS and
// VD_MEM_ZEROS_BASE, which is how they can be constants inside the kernel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vd/abi.h"
#include "vd/ops.h"

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

#define VD_CB(n) c_##n = n
namespace tt {
enum CBIndex : uint8_t {
    VD_CB(0),
    VD_CB(1),
    VD_CB(2),
    VD_CB(3),
    VD_CB(4),
    VD_CB(5),
    VD_CB(6),
    VD_CB(7),
    VD_CB(8),
    VD_CB(9),
    VD_CB(10),
    VD_CB(11),
    VD_CB(12),
    VD_CB(13),
    VD_CB(14),
    VD_CB(15),
    VD_CB(16),
    VD_CB(17),
    VD_CB(18),
    VD_CB(19),
    VD_CB(20),
    VD_CB(21),
    VD_CB(22),
    VD_CB(23),
    VD_CB(24),
    VD_CB(25),
    VD_CB(26),
    VD_CB(27),
    VD_CB(28),
    VD_CB(29),
    VD_CB(30),
    VD_CB(31),
    VD_CB(32),
    VD_CB(33),
    VD_CB(34),
    VD_CB(35),
    VD_CB(36),
    VD_CB(37),
    VD_CB(38),
    VD_CB(39),
    VD_CB(40),
    VD_CB(41),
    VD_CB(42),
    VD_CB(43),
    VD_CB(44),
    VD_CB(45),
    VD_CB(46),
    VD_CB(47),
    VD_CB(48),
    VD_CB(49),
    VD_CB(50),
    VD_CB(51),
    VD_CB(52),
    VD_CB(53),
    VD_CB(54),
    VD_CB(55),
    VD_CB(56),
    VD_CB(57),
    VD_CB(58),
    VD_CB(59),
    VD_CB(60),
    VD_CB(61),
    VD_CB(62),
    VD_CB(63),
    SIZE = 64,
};
using ::DataFormat;
}  // namespace tt
#undef VD_CB

ALWI void cb_reserve_back(uint32_t cb, uint32_t pages, VD_LINE) { vd_cb_reserve_back(cb, pages, line); }
ALWI void cb_push_back(uint32_t cb, uint32_t pages, VD_LINE) { vd_cb_push_back(cb, pages, line); }
ALWI void cb_wait_front(uint32_t cb, uint32_t pages, VD_LINE) { vd_cb_wait_front(cb, pages, line); }
ALWI void cb_pop_front(uint32_t cb, uint32_t pages, VD_LINE) { vd_cb_pop_front(cb, pages, line); }
