// Ownership of DST: acquire and commit by math, wait and release by pack.
#pragma once

#include "vd/compute.h"

ALWI void tile_regs_acquire(VD_LINE) { vd_regs_acquire(line); }
ALWI void tile_regs_commit(VD_LINE) { vd_regs_commit(line); }
ALWI void tile_regs_wait(VD_LINE) { vd_regs_wait(line); }
ALWI void tile_regs_release(VD_LINE) { vd_regs_release(line); }
