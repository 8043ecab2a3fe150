// Products and quotients that the SDK spells out for its processors.
#pragma once

#include <cstdint>

constexpr unsigned mulsi3(unsigned left, unsigned right) { return left * right; }
constexpr uint32_t udivsi3(uint32_t value, uint32_t divisor) { return value / divisor; }
constexpr uint32_t umodsi3(uint32_t value, uint32_t divisor) { return value % divisor; }
template <uint32_t divisor>
constexpr uint32_t udivsi3_const_divisor(uint32_t value) {
    return value / divisor;
}
template <uint32_t divisor>
constexpr uint32_t umodsi3_const_divisor(uint32_t value) {
    return value % divisor;
}
