// bfloat16 numbers as bits, on the processors of data movement.
#pragma once

#include <cstdint>
#include <cstring>

constexpr uint16_t NEG_INF_BFLOAT16 = 0xFF80, POS_INF_BFLOAT16 = 0x7F80, NAN_BFLOAT16 = 0x7FFF;
constexpr uint16_t BFLOAT16_SIGN_MASK = 0x8000;

struct FloatBits {
    uint16_t high16, low16;

    explicit FloatBits(float value) {
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        high16 = static_cast<uint16_t>(bits >> 16);
        low16 = static_cast<uint16_t>(bits);
    }
};

inline float bf16_to_fp32(uint16_t bf16) {
    const uint32_t bits = static_cast<uint32_t>(bf16) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
inline uint16_t fp32_to_bf16_truncate(float value) { return FloatBits(value).high16; }
// To nearest, ties to even; a NaN may become an infinity, as in the SDK.
inline uint16_t fp32_to_bf16(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits += 0x7FFF + (bits >> 16 & 1);
    return static_cast<uint16_t>(bits >> 16);
}
// Compares the bits as sign and magnitude: -0 is less than 0, and NaNs lie beyond the infinities.
inline bool bfloat16_greater(uint16_t left, uint16_t right) {
    const bool negative_left = left & BFLOAT16_SIGN_MASK, negative_right = right & BFLOAT16_SIGN_MASK;
    if (negative_left != negative_right) return negative_right;
    return negative_left ? left < right : left > right;
}
