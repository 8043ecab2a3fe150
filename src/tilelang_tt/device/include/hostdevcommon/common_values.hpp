// The two values of a flag semaphore.
#pragma once

#include <cstdint>

constexpr uint32_t INVALID = 0;
constexpr uint32_t VALID = 1;
