// Mean and variance of the columns of tiles, value after value.
#pragma once

#include <array>

#include "api/compute/common.h"
#include "vd/missing_names.h"

namespace ckernel {

enum class WelfordInitMode : uint8_t { ClearStats, PreserveStats };

template <WelfordInitMode mode = WelfordInitMode::ClearStats>
ALWI void welford_init(VD_LINE) {
    const vd::SfpuCall call{vd::Sfpu::Welford, 0, {}, {}};
    vd_sfpu_init(&call, line);
    if (mode == WelfordInitMode::ClearStats) vd_welford_clear(line);
}
template <auto...>
ALWI void welford_reinit(uint32_t cb, VD_LINE) {
    vd_copy_init(cb, false, false, line);
}
ALWI void welford_clear(VD_LINE) { vd_welford_clear(line); }
// `start_index` counts the values before this tile; the table holds one over 1, 2, 3, ...
template <std::size_t entries>
ALWI void welford_update(uint32_t idst, uint32_t start_index, const std::array<uint32_t, entries>& table, VD_LINE) {
    vd_welford_update(idst, start_index, 0, 32, table.data(), entries, line);
}
template <std::size_t entries>
ALWI void welford_update_rows(uint32_t idst, uint32_t start_index, uint32_t start_row, uint32_t rows,
                              const std::array<uint32_t, entries>& table, VD_LINE) {
    vd_welford_update(idst, start_index, start_row, rows, table.data(), entries, line);
}
// Mean into row 0 of one tile, variance into row 0 of the next.
template <std::size_t entries>
ALWI void welford_finalize_to_row(uint32_t mean_idst, uint32_t scale_index, const std::array<uint32_t, entries>& table,
                                  VD_LINE) {
    vd_welford_finalize(mean_idst, scale_index, table.data(), entries, line);
}
ALWI void welford_save_state(uint32_t mean_idst, VD_LINE) { vd_welford_save(mean_idst, line); }
ALWI void welford_restore_state(uint32_t mean_idst, VD_LINE) { vd_welford_restore(mean_idst, line); }
// Statistics of up to 16 groups lie side by side in one pair of tiles, each as the registers hold them.
ALWI void welford_save_state(uint32_t mean_idst, uint32_t group, VD_LINE) {
    vd_welford_save_group(mean_idst, group, line);
}
ALWI void welford_restore_state(uint32_t mean_idst, uint32_t group, VD_LINE) {
    vd_welford_restore_group(mean_idst, group, line);
}
template <std::size_t entries>
ALWI void welford_finalize_to_face(uint32_t mean_idst, uint32_t group, uint32_t scale_index,
                                   const std::array<uint32_t, entries>& table, VD_LINE) {
    vd_welford_finalize_group(mean_idst, group, scale_index, table.data(), entries, line);
}

}  // namespace ckernel
