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
