// Kernels that can name another core carry the symbol below; the runner then gives every core its own L1.
#pragma once

#include "vd/kernel.h"
#include "vd/noc_abi.h"

extern "C" __attribute__((visibility("default"), noinline)) inline void vd_kernel_reaches_cores() { asm volatile(""); }
