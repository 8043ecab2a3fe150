// Conditions that kernels assert: one that does not hold stops the run, as the SDK's watcher would stop the core.
#pragma once
#include "vd/abi.h"

#define ASSERT(condition, ...) ((condition) ? (void)0 : vd_assert_failed(#condition, __builtin_LINE()))
#define LIGHTWEIGHT_KERNEL_ASSERTS 0
#define WAYPOINT(name)
