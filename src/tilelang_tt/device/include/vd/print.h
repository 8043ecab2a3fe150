// DPRINT("x = {}, {:#x}\n", x, y). Shown on standard error when TILELANG_TT_DPRINT is set; without it, swallowed.
#pragma once

#include <cstdio>
#include <type_traits>

#include "vd/kernel.h"
#include "vd/noc_abi.h"

// A bfloat16 number given by its bits.
struct bf16_t {
    uint16_t val;
    explicit constexpr bf16_t(uint16_t bits) : val(bits) {}
};

namespace vd {

constexpr bool is_placeholder(const char* at) { return at[0] == '{' && at[1] != '{'; }

template <std::size_t N>
constexpr std::size_t placeholders(const char (&format)[N]) {
    std::size_t found = 0;
    for (std::size_t i = 0; i + 1 < N; ++i) {
        if (format[i] == '{' && format[i + 1] == '{') {
            ++i;
        } else if (format[i] == '{') {
            ++found;
        }
    }
    return found;
}

struct Printer {
    char text[512];
    std::size_t used = 0;

    void put(char letter) {
        if (used + 1 < sizeof text) text[used++] = letter;
    }
    // Copies up to the next placeholder and returns what stands in it.
    const char* until_placeholder(const char* format, bool& hex) {
        while (*format && !is_placeholder(format)) {
            if ((*format == '{' || *format == '}') && format[1] == *format) ++format;
            put(*format++);
        }
        hex = false;
        while (*format && *format != '}') hex = *format++ == 'x' || hex;
        return *format ? format + 1 : format;
    }
    template <typename T>
    void value(const T& what, bool hex) {
        char digits[48] = "?";
        if constexpr (std::is_same_v<T, bf16_t>) {
            const uint32_t bits = static_cast<uint32_t>(what.val) << 16;
            float number;
            __builtin_memcpy(&number, &bits, sizeof number);
            std::snprintf(digits, sizeof digits, "%g", static_cast<double>(number));
        } else if constexpr (std::is_floating_point_v<T>) {
            std::snprintf(digits, sizeof digits, "%g", static_cast<double>(what));
        } else if constexpr (std::is_convertible_v<T, const char*>) {
            std::snprintf(digits, sizeof digits, "%s", static_cast<const char*>(what));
        } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
            const auto number = static_cast<long long>(what);
            std::snprintf(digits, sizeof digits, hex ? "0x%llx" : "%lld", number);
        } else if constexpr (std::is_pointer_v<T>) {
            std::snprintf(digits, sizeof digits, "%p", static_cast<const void*>(what));
        }
        for (const char* at = digits; *at; ++at) put(*at);
    }
};

template <typename... Values>
void print(const char* format, uint32_t line, const Values&... values) {
    Printer printer;
    bool hex = false;
    ((format = printer.until_placeholder(format, hex), printer.value(values, hex)), ...);
    printer.until_placeholder(format, hex);
    printer.text[printer.used] = 0;
    vd_print(printer.text, line);
}

template <typename... Values>
std::integral_constant<std::size_t, sizeof...(Values)> counted(const Values&...);

}  // namespace vd

#define VD_PRINT(format, ...)                                                                \
    do {                                                                                     \
        static_assert(vd::placeholders(format) == decltype(vd::counted(__VA_ARGS__))::value, \
                      "DPRINT: as many values as there are {} in the format");               \
        vd::print(format, __builtin_LINE() __VA_OPT__(, ) __VA_ARGS__);                              \
    } while (false)

#define DPRINT VD_PRINT
#define DEVICE_PRINT VD_PRINT
// One source stands for several processors here, each of which would print.
#define DPRINT_UNPACK(...) DPRINT(__VA_ARGS__)
#define DPRINT_MATH(...) DPRINT(__VA_ARGS__)
#define DPRINT_PACK(...) DPRINT(__VA_ARGS__)
#define DEVICE_PRINT_UNPACK(...) DPRINT(__VA_ARGS__)
#define DEVICE_PRINT_MATH(...) DPRINT(__VA_ARGS__)
#define DEVICE_PRINT_PACK(...) DPRINT(__VA_ARGS__)
#define DEVICE_PRINT_DATA0(...) DPRINT(__VA_ARGS__)
#define DEVICE_PRINT_DATA1(...) DPRINT(__VA_ARGS__)
#define DPRINT_DATA0(...) DPRINT(__VA_ARGS__)
#define DPRINT_DATA1(...) DPRINT(__VA_ARGS__)
