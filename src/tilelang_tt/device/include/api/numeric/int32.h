// int32 numbers, on the processors of data movement.
#pragma once

#include <cstdint>

constexpr int32_t NEG_INF_INT32 = INT32_MIN, POS_INF_INT32 = INT32_MAX;
constexpr uint32_t INT32_SIGN_MASK = 0x80000000;

inline bool int32_greater(int32_t left, int32_t right) { return left > right; }
