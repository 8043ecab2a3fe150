// Kernels in the SFPI language (include/sfpi.h): vectors of 32 lanes between DST and a kernel's own expressions.
#include <cmath>
#include <cstring>

#include "chip_mad.h"
#include "sfpu.h"

namespace vd {
namespace {

// A vector is the even or the odd columns of four rows of a face.
struct Vector {
    uint32_t tile, face, row, column;

    explicit Vector(uint32_t vector)
        : tile(vector / kVectorsOfTile), face(vector % kVectorsOfTile / kVectorsOfFace),
          row(vector % kVectorsOfFace / 2 * 4), column(vector % 2) {}
    float& lane(Tile& in, uint32_t number) const { return in.at[face][row + number / 8][number % 8 * 2 + column]; }
};

Vector vector_at(uint32_t vector, bool integers) {
    if (integers && !core->group->fp32_dest) vd_unimplemented("integers of a 16-bit DST in SFPI code", fiber->line);
    const SfpiState& state = core->engine.sfpi;
    return Vector(state.face + state.step + vector);
}

}  // namespace
}  // namespace vd

using namespace vd;

extern "C" {

SfpiState* vd_sfpi_begin(uint32_t dst, uint32_t line) {
    enter(line);
    require_math("SFPI code");
    dst_tile(dst);
    ++core->statistics.sfpu_tiles;
    SfpiState& state = core->engine.sfpi;
    state.face = dst * kVectorsOfTile;
    state.step = 0;
    state.lanes = ~0u;
    state.line = line;
    return &state;
}

SfpiState* vd_sfpi_state() { return &core->engine.sfpi; }

void vd_sfpi_load(uint32_t vector, bool integers, uint32_t* bits) {
    const Vector at = vector_at(vector, integers);
    written_dst_tile(at.tile, "SFPI code");
    Tile& tile = dst_tile(at.tile);
    for (uint32_t lane = 0; lane < kLanes; ++lane) bits[lane] = bits_of(at.lane(tile, lane));
}

void vd_sfpi_store(uint32_t vector, bool integers, const uint32_t* bits) {
    const Vector at = vector_at(vector, integers);
    Tile& tile = dst_tile(at.tile);
    const bool narrow = !core->group->fp32_dest && !device.exact;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if (!(core->engine.sfpi.lanes >> lane & 1)) continue;
        at.lane(tile, lane) = float_of(narrow ? bits[lane] & 0xFFFF0000u : bits[lane]);
    }
    core->engine.section.tiles[at.tile] = DstTile::Written;
}

void vd_sfpi_mad(const float* a, const float* b, const float* c, float* sum) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        sum[lane] = device.bit_true ? chip::mad(a[lane], b[lane], c[lane]) : std::fma(a[lane], b[lane], c[lane]);
    }
}

}  // extern "C"
