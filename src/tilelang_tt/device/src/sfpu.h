// Rows of the vector unit: one per operation. Arithmetic is IEEE fp32 (or two's complement); a row says which init the
// operation needs, how many DST tiles it reads, and how its result enters a 16-bit DST.
#pragma once

#include <cmath>
#include <cstring>

#include "machine.h"

namespace vd {

enum class Store : uint8_t {
    Truncate,     // what the store instruction does
    NearestEven,  // operations that round in software first
    Bits,         // integers
};
constexpr Store kCut = Store::Truncate, kEven = Store::NearestEven;

inline float float_of(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
inline uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

// Scalars of a call: as numbers, as integers, and those of the init.
struct Scalars {
    float f[3];
    uint32_t u[3];
    float init[3];
    bool fast;
    DataFormat format;
};

struct FloatRow {
    Sfpu op, init;
    const char* name;
    uint8_t operands;
    Store store;
    float (*apply)(float a, float b, float c, const Scalars& s);
};

struct IntRow {
    Sfpu op, init;
    const char* name;
    uint8_t operands;
    uint32_t (*apply)(uint32_t a, uint32_t b, const Scalars& s);
};

// What the vector unit's rounding instruction makes of a number: ties away from zero, cut to 8 bits. NaN counts as large.
inline uint32_t to_8_bits(float x, bool is_unsigned) {
    const float most = is_unsigned ? 255.0f : 127.0f, size = std::fabs(x);
    const uint32_t whole = static_cast<uint32_t>(!(size < most) ? most : std::floor(size + 0.5f));
    return std::signbit(x) && !is_unsigned ? 0u - whole : whole;
}
// It reads integers as a sign and a magnitude, of which the most negative number has none.
inline float from_32_bits(float integer) {
    const uint32_t bits = bits_of(integer);
    return bits == 0x80000000u ? -0.0f : static_cast<float>(static_cast<int32_t>(bits));
}

inline float truth(bool holds) { return holds ? 1.0f : 0.0f; }
// With the sign of the divisor.
inline float remainder(float x, float divisor) {
    const float rest = std::fmod(x, divisor);
    return rest != 0.0f && (rest < 0.0f) != (divisor < 0.0f) ? rest + divisor : rest;
}

const FloatRow* find_unary(Sfpu op);
const FloatRow* find_binary(Sfpu op);  // two or three operands
const IntRow* find_integer(Sfpu op);

// The expression of a row, over a, b, c and s.
#define VD_FLOAT(...)                                                    \
    [](float a, float b, float c, const Scalars& s) -> float {           \
        (void)a, (void)b, (void)c, (void)s;                              \
        return __VA_ARGS__;                                              \
    }
#define VD_INT(...)                                                      \
    [](uint32_t a, uint32_t b, const Scalars& s) -> uint32_t {           \
        (void)a, (void)b, (void)s;                                       \
        return __VA_ARGS__;                                              \
    }

// Checks every operation of the vector unit makes before it computes.
void require_vector_unit(bool on_pack, const char* name);
void require_sfpu_init(Sfpu wanted, const char* name);
void finish_sfpu(uint32_t dst, Store how);  // the result is in DST: round it, count it

}  // namespace vd
