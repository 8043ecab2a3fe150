// float32 numbers as bits, on the processors of data movement.
#pragma once

#include <cstdint>
#include <cstring>

constexpr uint32_t NEG_INF_FLOAT32 = 0xFF800000, POS_INF_FLOAT32 = 0x7F800000, NAN_FLOAT32 = 0x7FFFFFFF;
constexpr uint32_t FLOAT32_SIGN_MASK = 0x80000000, FLOAT32_EXPONENT_MASK = 0x7F800000;
constexpr uint32_t FLOAT32_MANTISSA_MASK = 0x007FFFFF, FLOAT32_MAGNITUDE_MASK = 0x7FFFFFFF;

// As numbers: a NaN is not greater than anything, the zeros are equal.
inline bool float32_greater(uint32_t left, uint32_t right) {
    float a, b;
    std::memcpy(&a, &left, sizeof a);
    std::memcpy(&b, &right, sizeof b);
    return a > b;
}
