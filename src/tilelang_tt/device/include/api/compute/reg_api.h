// Ownership of DST: acquire and commit by math, wait and release by pack.
#pragma once

#include "vd/compute.h"

ALWI void tile_regs_acquire(uint32_t line = __builtin_LINE()) { vd_regs_acquire(line); }
ALWI void tile_regs_commit(uint32_t line = __builtin_LINE()) { vd_regs_commit(line); }
ALWI void tile_regs_wait(uint32_t line = __builtin_LINE()) { vd_regs_wait(line); }
ALWI void tile_regs_release(uint32_t line = __builtin_LINE()) { vd_regs_release(line); }
