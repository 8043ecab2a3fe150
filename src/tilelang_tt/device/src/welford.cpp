// Running mean and sum of squared differences of 32 columns, in registers of the vector unit (Welford's method).
#include <cmath>
#include <cstring>

#include "kept.h"
#include "numerics.h"
#include "sfpu.h"

using namespace vd;

namespace {

constexpr uint32_t kColumns = 32, kRows = 32;

void require_welford(const char* what) {
    require_vector_unit(false, what);
    require_sfpu_init(Sfpu::Welford, what);
}

// One over the number of values up to and including number `index`: from the kernel's table, or divided.
float one_over(const uint32_t* table, uint32_t entries, uint32_t index) {
    if (entries == 0) return 1.0f / static_cast<float>(index + 1);
    if (index >= entries) undefined("welford reads entry %u of a table of %u reciprocals", index, entries);
    return float_of(table[index]);
}

// Row 0 of two neighbouring DST tiles; the rest of them is not a number that anyone may use.
void store_rows(uint32_t dst, const float* first, const float* second, Store how) {
    const float* rows[2] = {first, second};
    for (uint32_t i = 0; i < 2; ++i) {
        Tile& tile = dst_tile(dst + i);
        std::memset(&tile, 0xFF, sizeof tile);
        for (uint32_t col = 0; col < kColumns; ++col) element(tile, 0, col) = rows[i][col];
        finish_sfpu(dst + i, how);
    }
}

// Where a register holds a column, as it lies in DST: four rows of eight even columns, one group after the other.
float& in_group(Tile& tile, uint32_t group, uint32_t col) {
    constexpr uint32_t kGroupsOfFace = 4, kRowsOfGroup = 4;
    const uint32_t lane_row = col / kFace * 2 + col % 2, lane_col = col % kFace / 2;
    return tile.at[group / kGroupsOfFace][group % kGroupsOfFace * kRowsOfGroup + lane_row][2 * lane_col];
}

void require_group(uint32_t group, const char* what) {
    if (group >= 16) undefined("%s of group %u: a tile has room for 16", what, group);
}

void store_group(uint32_t dst, uint32_t group, const float* first, const float* second) {
    const float* values[2] = {first, second};
    for (uint32_t i = 0; i < 2; ++i) {
        Tile& tile = dst_tile(dst + i);
        for (uint32_t col = 0; col < kColumns; ++col) in_group(tile, group, col) = values[i][col];
        finish_sfpu(dst + i, Store::Truncate);
    }
}

}  // namespace

extern "C" {

void vd_welford_clear(uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_welford_clear(line); });
    note::work(note::Processor::Math, "sfpu", "welford_clear");
    require_sfpu_init(Sfpu::Welford, "welford_clear");
    std::memset(&core->engine.welford, 0, sizeof core->engine.welford);
}

void vd_welford_update(uint32_t dst, uint32_t first_index, uint32_t first_row, uint32_t rows, const uint32_t* table,
                       uint32_t entries, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=, copy = kept_words(table, entries)] {
        vd_welford_update(dst, first_index, first_row, rows, copy, entries, line);
    });
    note::work(note::Processor::Math, "sfpu", "welford_update");
    require_welford("welford_update");
    if (first_row + rows > kRows) undefined("welford_update_rows of rows %u to %u", first_row, first_row + rows);
    Tile& tile = written_dst_tile(dst, "welford_update");
    Welford& state = core->engine.welford;
    for (uint32_t row = 0; row < rows; ++row) {
        const float weight = one_over(table, entries, first_index + row);
        for (uint32_t col = 0; col < kColumns; ++col) {
            const float value = element(tile, first_row + row, col), delta = value - state.mean[col];
            state.mean[col] = std::fma(delta, weight, state.mean[col]);
            state.m2[col] = std::fma(delta, value - state.mean[col], state.m2[col]);
        }
    }
}

void vd_welford_finalize(uint32_t dst, uint32_t scale_index, const uint32_t* table, uint32_t entries, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=, copy = kept_words(table, entries)] {
        vd_welford_finalize(dst, scale_index, copy, entries, line);
    });
    note::work(note::Processor::Math, "sfpu", "welford_finalize");
    require_welford("welford_finalize_to_row");
    const Welford& state = core->engine.welford;
    float variance[kColumns];
    const float weight = one_over(table, entries, scale_index);
    for (uint32_t col = 0; col < kColumns; ++col) variance[col] = state.m2[col] * weight;
    store_rows(dst, state.mean, variance, Store::Truncate);
}

void vd_welford_save(uint32_t dst, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_welford_save(dst, line); });
    note::work(note::Processor::Math, "sfpu", "welford_save");
    require_welford("welford_save_state");
    store_rows(dst, core->engine.welford.mean, core->engine.welford.m2, Store::Truncate);
}

void vd_welford_save_group(uint32_t dst, uint32_t group, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_welford_save_group(dst, group, line); });
    require_welford("welford_save_state");
    require_group(group, "welford_save_state");
    store_group(dst, group, core->engine.welford.mean, core->engine.welford.m2);
}

void vd_welford_restore_group(uint32_t dst, uint32_t group, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_welford_restore_group(dst, group, line); });
    require_welford("welford_restore_state");
    require_group(group, "welford_restore_state");
    Tile& mean = written_dst_tile(dst, "welford_restore_state");
    Tile& m2 = written_dst_tile(dst + 1, "welford_restore_state");
    for (uint32_t col = 0; col < kColumns; ++col) {
        core->engine.welford.mean[col] = in_group(mean, group, col);
        core->engine.welford.m2[col] = in_group(m2, group, col);
    }
}

void vd_welford_finalize_group(uint32_t dst, uint32_t group, uint32_t scale_index, const uint32_t* table,
                               uint32_t entries, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=, copy = kept_words(table, entries)] {
        vd_welford_finalize_group(dst, group, scale_index, copy, entries, line);
    });
    require_welford("welford_finalize_to_face");
    require_group(group, "welford_finalize_to_face");
    const Welford& state = core->engine.welford;
    float variance[kColumns];
    const float weight = one_over(table, entries, scale_index);
    for (uint32_t col = 0; col < kColumns; ++col) variance[col] = state.m2[col] * weight;
    store_group(dst, group, state.mean, variance);
}

void vd_welford_restore(uint32_t dst, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_welford_restore(dst, line); });
    note::work(note::Processor::Math, "sfpu", "welford_restore");
    require_welford("welford_restore_state");
    Tile& mean = written_dst_tile(dst, "welford_restore_state");
    Tile& m2 = written_dst_tile(dst + 1, "welford_restore_state");
    for (uint32_t col = 0; col < kColumns; ++col) {
        core->engine.welford.mean[col] = element(mean, 0, col);
        core->engine.welford.m2[col] = element(m2, 0, col);
    }
}

}  // extern "C"
