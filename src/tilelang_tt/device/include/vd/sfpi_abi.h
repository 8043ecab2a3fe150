// What SFPI code of a kernel shares with the runner: where it is in DST, and which lanes are switched on.
#pragma once

#include <cstdint>

#include "vd/ops.h"

namespace vd {

constexpr uint32_t kLanes = 32;
constexpr uint32_t kVectorsOfTile = 32, kVectorsOfFace = 8;

struct SfpiState {
    uint32_t face;                 // vector 0 of the face at hand, counted from the start of DST
    uint32_t step;                 // what `dst_reg++` has added since
    uint32_t lanes;                // a bit per lane: results are stored in these alone
    uint32_t line;                 // of the kernel that called
    bool on_pack;                  // the pack processor runs it, on the part of DST that it has waited for
    uint32_t constants[3][kLanes];  // vConstFloatPrgm0 .. 2
};

}  // namespace vd

extern "C" {

// SFPI code begins, on the faces of one tile from the first on (or on DST as a whole, whose first tile is 0).
vd::SfpiState* vd_sfpi_begin(uint32_t dst, uint32_t line);
vd::SfpiState* vd_sfpi_begin_here(uint32_t line);  // on the tile that was addressed last
void vd_sfpi_advance(uint32_t rows, uint32_t line);
vd::SfpiState* vd_sfpi_state();
void vd_sfpi_load(uint32_t vector, bool integers, uint32_t* bits);
void vd_sfpi_store(uint32_t vector, bool integers, const uint32_t* bits);
void vd_sfpi_mad(const float* a, const float* b, const float* c, float* sum);
// One of the SDK's own functions of a vector, as the tile operation computes it.
void vd_sfpi_function(const vd::SfpuCall* call, const float* x, float* result);

}  // extern "C"
