// DPRINT("x = {}, {:#x}, {:.3f}\n", x, y, z), and the older DPRINT << "x = " << x << ENDL(), also inside
// DPRINT_MATH. Shown on standard error unless TILELANG_TT_DPRINT is 0.
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

// As many values as a format wants; -1 when it names them by number.
template <std::size_t N>
constexpr int placeholders(const char (&format)[N]) {
    int found = 0;
    for (std::size_t i = 0; i + 1 < N; ++i) {
        if (format[i] == '{' && format[i + 1] == '{') {
            ++i;
        } else if (format[i] == '{') {
            if (format[i + 1] >= '0' && format[i + 1] <= '9') return -1;
            ++found;
        }
    }
    return found;
}

// What stands behind the colon of {:#08x} or {:.3f}.
struct Spec {
    char flags[8] = "";  // as printf takes them: flags, width, precision
    char type = 0;
};

constexpr std::size_t kPrinted = 4096;  // bytes of one call

class Printer {
public:
    char text[kPrinted];
    std::size_t used = 0;

    void put(char letter) {
        if (used + 1 < sizeof text) text[used++] = letter;
    }
    void put(const char* more) {
        while (*more) put(*more++);
    }
    template <typename T>
    void value(const T& what, const Spec& spec) {
        if constexpr (std::is_same_v<T, bf16_t>) {
            const uint32_t bits = static_cast<uint32_t>(what.val) << 16;
            float number;
            __builtin_memcpy(&number, &bits, sizeof number);
            real(static_cast<double>(number), spec);
        } else if constexpr (std::is_same_v<T, bool>) {
            put(what ? "true" : "false");
        } else if constexpr (std::is_same_v<T, char>) {
            put(what);
        } else if constexpr (std::is_floating_point_v<T>) {
            real(static_cast<double>(what), spec);
        } else if constexpr (std::is_convertible_v<T, const char*>) {
            put(static_cast<const char*>(what));
        } else if constexpr (std::is_enum_v<T>) {
            value(static_cast<std::underlying_type_t<T>>(what), spec);
        } else if constexpr (std::is_integral_v<T>) {
            integer(static_cast<long long>(what), std::is_unsigned_v<T>, sizeof(T), spec);
        } else if constexpr (std::is_pointer_v<T>) {
            char digits[32];
            std::snprintf(digits, sizeof digits, "%p", static_cast<const void*>(what));
            put(digits);
        } else if constexpr (std::is_convertible_v<T, uint32_t>) {
            value(static_cast<uint32_t>(what), spec);
        } else {
            put('?');
        }
    }

private:
    void real(double number, const Spec& spec) {
        char format[16], digits[64];
        std::snprintf(format, sizeof format, "%%%s%c", spec.flags, spec.type ? spec.type : 'g');
        std::snprintf(digits, sizeof digits, format, number);
        put(digits);
    }
    void integer(long long number, bool is_unsigned, std::size_t bytes, const Spec& spec) {
        const char type = spec.type ? spec.type : is_unsigned ? 'u' : 'd';
        if (type == 'f' || type == 'e' || type == 'g') return real(static_cast<double>(number), spec);
        const bool narrow = (type == 'x' || type == 'X' || type == 'o') && bytes < sizeof number;
        if (narrow) number &= (1ll << 8 * bytes) - 1;
        char format[16], digits[64];
        std::snprintf(format, sizeof format, "%%%sll%c", spec.flags, type);
        std::snprintf(digits, sizeof digits, format, number);
        put(digits);
    }
};

// A value and how it is shown, so that a format may name it by number.
struct Shown {
    const void* what;
    void (*show)(Printer&, const void*, const Spec&);
};

template <typename T>
Shown shown(const T& what) {
    return {&what, [](Printer& printer, const void* at, const Spec& spec) {
                printer.value(*static_cast<const T*>(at), spec);
            }};
}

inline Spec read_spec(const char*& format) {
    Spec spec;
    std::size_t used = 0;
    while (*format && *format != '}') {
        const char letter = *format++;
        const bool is_type = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
        if (is_type) {
            spec.type = letter;
        } else if (letter == '<') {
            if (used + 1 < sizeof spec.flags) spec.flags[used++] = '-';
        } else if (letter != '>' && used + 1 < sizeof spec.flags) {
            spec.flags[used++] = letter;
        }
    }
    return spec;
}

inline void print_list(const char* format, uint32_t line, const Shown* values, std::size_t count) {
    Printer printer;
    for (std::size_t next = 0; *format;) {
        if (!is_placeholder(format)) {
            if ((*format == '{' || *format == '}') && format[1] == *format) ++format;
            printer.put(*format++);
            continue;
        }
        ++format;
        std::size_t index = 0;
        const bool named = *format >= '0' && *format <= '9';
        while (*format >= '0' && *format <= '9') index = index * 10 + static_cast<std::size_t>(*format++ - '0');
        if (*format == ':') ++format;
        const Spec spec = read_spec(format);
        if (*format == '}') ++format;
        if (!named) index = next++;
        if (index < count) values[index].show(printer, values[index].what, spec);
    }
    printer.text[printer.used] = 0;
    vd_print(printer.text, line);
}

template <typename... Values>
void print(const char* format, uint32_t line, const Values&... values) {
    const Shown list[] = {shown(values)..., {nullptr, nullptr}};
    print_list(format, line, list, sizeof...(Values));
}

template <typename... Values>
std::integral_constant<int, sizeof...(Values)> counted(const Values&...);

constexpr bool fits(int wanted, int given) { return wanted == given || wanted == -1; }

}  // namespace vd

#define VD_PRINT(format, ...)                                                                              \
    do {                                                                                                   \
        static_assert(vd::fits(vd::placeholders(format), decltype(vd::counted(__VA_ARGS__))::value),       \
                      "DPRINT: as many values as there are {} in the format");                             \
        vd::print(format, __builtin_LINE() __VA_OPT__(, ) __VA_ARGS__);                                    \
    } while (false)

// DPRINT_MATH("x = {}\n", x) and DPRINT_MATH(DPRINT << x): what begins with no quote is a stream, which has shown itself
// when it is evaluated.
#define VD_PRINT_OR_STREAM(format, ...)                                                                    \
    do {                                                                                                   \
        static_assert(#format[0] != '"' ||                                                                 \
                          vd::fits(vd::placeholders(#format), decltype(vd::counted(__VA_ARGS__))::value),  \
                      "DPRINT: as many values as there are {} in the format");                             \
        vd::print(format, __builtin_LINE() __VA_OPT__(, ) __VA_ARGS__);                                    \
    } while (false)

// The older spelling. A name that no parenthesis follows is no macro, so both may stand in one kernel.
struct ENDL {};
struct HEX {};
struct DEC {};
struct OCT {};
struct FIXED {};
struct DEFAULTFLOAT {};
struct SETW {
    uint8_t width;
    constexpr explicit SETW(uint8_t columns) : width(columns) {}
};
struct SETPRECISION {
    uint8_t digits;
    constexpr explicit SETPRECISION(uint8_t places) : digits(places) {}
};
struct BF16 : bf16_t {
    using bf16_t::bf16_t;
};
struct F32 {
    float val;
    constexpr explicit F32(float number) : val(number) {}
};
struct U32 {
    uint32_t val;
    constexpr explicit U32(uint32_t number) : val(number) {}
};

namespace vd {

// How the values of one stream are shown, from left to right.
struct Manner {
    uint8_t width = 0, digits = 0;
    char integers = 0, reals = 0;  // as printf names them
};

// One thing that is streamed, with the line it stands on; it lives as long as the statement.
struct Streamed {
    const void* what;
    void (*show)(Printer&, const void*, Manner&);
    uint32_t line;

    template <typename T>
    Streamed(const T& value, int at = __builtin_LINE()) : what(&value), line(static_cast<uint32_t>(at)) {
        show = [](Printer& printer, const void* from, Manner& manner) {
            put(printer, *static_cast<const T*>(from), manner);
        };
    }

    template <typename T>
    static void put(Printer& printer, const T& value, Manner& manner) {
        if constexpr (std::is_same_v<T, ENDL>) {
            printer.put('\n');
        } else if constexpr (std::is_same_v<T, HEX>) {
            manner.integers = 'x';
        } else if constexpr (std::is_same_v<T, OCT>) {
            manner.integers = 'o';
        } else if constexpr (std::is_same_v<T, DEC>) {
            manner.integers = 0;
        } else if constexpr (std::is_same_v<T, FIXED>) {
            manner.reals = 'f';
        } else if constexpr (std::is_same_v<T, DEFAULTFLOAT>) {
            manner.reals = 0;
        } else if constexpr (std::is_same_v<T, SETW>) {
            manner.width = value.width;
        } else if constexpr (std::is_same_v<T, SETPRECISION>) {
            manner.digits = value.digits;
        } else if constexpr (std::is_same_v<T, BF16>) {
            put(printer, static_cast<const bf16_t&>(value), manner);
        } else if constexpr (std::is_same_v<T, F32> || std::is_same_v<T, U32>) {
            put(printer, value.val, manner);
        } else {
            constexpr bool real = std::is_floating_point_v<T> || std::is_same_v<T, bf16_t>;
            constexpr bool integer = std::is_integral_v<T> && !std::is_same_v<T, char> && !std::is_same_v<T, bool>;
            Spec spec;
            if (real && manner.digits) {
                std::snprintf(spec.flags, sizeof spec.flags, "%u.%u", manner.width, manner.digits);
            } else if ((real || integer) && manner.width) {
                std::snprintf(spec.flags, sizeof spec.flags, "%u", manner.width);
            }
            spec.type = real ? manner.reals : integer ? manner.integers : '\0';
            printer.value(value, spec);
        }
    }
};

struct Stream {
    Manner manner{};

    Stream operator<<(const Streamed& what) const {
        Stream more{*this};
        Printer printer;
        what.show(printer, what.what, more.manner);
        printer.text[printer.used] = 0;
        if (printer.used != 0) vd_print(printer.text, what.line);
        return more;
    }
};

inline void print(const Stream&, uint32_t) {}

}  // namespace vd

constexpr vd::Stream DPRINT{};

#define DPRINT(...) VD_PRINT(__VA_ARGS__)
#define DEVICE_PRINT(...) VD_PRINT(__VA_ARGS__)
// One source stands for several processors here; what any of them prints is printed once.
#define DPRINT_UNPACK(...) VD_PRINT_OR_STREAM(__VA_ARGS__)
#define DPRINT_MATH(...) VD_PRINT_OR_STREAM(__VA_ARGS__)
#define DPRINT_PACK(...) VD_PRINT_OR_STREAM(__VA_ARGS__)
#define DEVICE_PRINT_UNPACK(...) VD_PRINT(__VA_ARGS__)
#define DEVICE_PRINT_MATH(...) VD_PRINT(__VA_ARGS__)
#define DEVICE_PRINT_PACK(...) VD_PRINT(__VA_ARGS__)
#if defined(COMPILE_FOR_TRISC)
#define DEVICE_PRINT_DATA0(...)
#define DEVICE_PRINT_DATA1(...)
#else
#define DEVICE_PRINT_DATA0(...) do { if (VD_NOC_INDEX == 0) VD_PRINT_OR_STREAM(__VA_ARGS__); } while (false)
#define DEVICE_PRINT_DATA1(...) do { if (VD_NOC_INDEX == 1) VD_PRINT_OR_STREAM(__VA_ARGS__); } while (false)
#endif
#define DPRINT_DATA0(...) DEVICE_PRINT_DATA0(__VA_ARGS__)
#define DPRINT_DATA1(...) DEVICE_PRINT_DATA1(__VA_ARGS__)
