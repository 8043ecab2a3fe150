// Ownership of DST: acquire and commit by math, wait and release by pack.
#pragma once

#include "vd/compute.h"

namespace ckernel {

ALWI void tile_regs_acquire(VD_LINE) { vd_regs_acquire(line); }
ALWI void tile_regs_wait(VD_LINE) { vd_regs_wait(line); }
template <auto...>
ALWI void tile_regs_commit(VD_LINE) {
    vd_regs_commit(line);
}
template <auto...>
ALWI void tile_regs_release(VD_LINE) {
    vd_regs_release(line);
}
// The older pair: math and pack own DST together.
ALWI void acquire_dst(VD_LINE) { vd_dst_acquire(line); }
template <auto...>
ALWI void release_dst(VD_LINE) {
    vd_dst_release(line);
}

}  // namespace ckernel
