// Kernels in the SFPI language (include/sfpi.h): vectors of 32 lanes between DST and a kernel's own expressions.
#include <cmath>
#include <cstring>
#include <optional>

#include "chip_library.h"
#include "chip_mad.h"
#include "kept.h"
#include "sfpu.h"
#include "timed.h"

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

constexpr uint32_t kFunctionVectors = 12;  // instructions of a function on one vector, roughly
constexpr uint32_t kRowsOfVector = 2;  // by which the counter of rows goes on from vector to vector

// The part of DST that the processor at hand works on.
struct SfpiView {
    std::optional<PackView> pack;
    SfpiView() {
        if (core->engine.sfpi.on_pack) pack.emplace();
    }
};

float nearest_even_bfloat16(float value) {
    const uint32_t bits = bits_of(value);
    const bool special = (bits & 0x7F800000u) == 0x7F800000u;
    return special ? value : float_of((bits + 0x7FFFu + (bits >> 16 & 1u)) & 0xFFFF0000u);
}

}  // namespace
}  // namespace vd

using namespace vd;

extern "C" {

SfpiState* vd_sfpi_begin(uint32_t dst, uint32_t line) {
    begin(line);
    const DstOwners& owners = core->engine.owners;
    const bool on_pack = !owners.math && owners.pack;  // then only the pack processor can be meant
    catch_up(on_pack ? kPack : kMath, "SFPI code");
    require_vector_unit(on_pack, "SFPI code");
    dst_tile(dst);
    ++core->statistics.sfpu_tiles;
    core->engine.last_dst = dst;
    SfpiState& state = core->engine.sfpi;
    state.face = dst * kVectorsOfTile;
    state.step = 0;
    state.lanes = ~0u;
    state.line = line;
    state.on_pack = on_pack;
    return &state;
}

SfpiState* vd_sfpi_begin_here(uint32_t line) { return vd_sfpi_begin(core->engine.last_dst, line); }

void vd_sfpi_advance(uint32_t rows, uint32_t line) {
    begin(line);
    SfpiState& state = core->engine.sfpi;
    state.face += rows / kRowsOfVector;
    state.step = 0;
}

SfpiState* vd_sfpi_state() { return &core->engine.sfpi; }

void vd_sfpi_load(uint32_t vector, bool integers, uint32_t* bits) {
    note::vector_operations(1);
    const Vector at = vector_at(vector, integers);
    const SfpiView view;
    written_dst_tile(at.tile, "SFPI code");
    Tile& tile = dst_tile(at.tile);
    for (uint32_t lane = 0; lane < kLanes; ++lane) bits[lane] = bits_of(at.lane(tile, lane));
}

void vd_sfpi_store(uint32_t vector, bool integers, const uint32_t* bits) {
    note::vector_operations(1);
    const Vector at = vector_at(vector, integers);
    const SfpiView view;
    Tile& tile = dst_tile(at.tile);
    const bool narrow = !core->group->fp32_dest && !device.exact;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if (!(core->engine.sfpi.lanes >> lane & 1)) continue;
        at.lane(tile, lane) = float_of(narrow ? bits[lane] & 0xFFFF0000u : bits[lane]);
    }
    core->engine.section.tiles[at.tile] = DstTile::Written;
}

void vd_sfpi_mad(const float* a, const float* b, const float* c, float* sum) {
    note::vector_operations(1);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        sum[lane] = device.bit_true ? chip::mad(a[lane], b[lane], c[lane]) : std::fma(a[lane], b[lane], c[lane]);
    }
}

void vd_sfpi_function(const SfpuCall* call, const float* x, float* result) {
    note::vector_operations(kFunctionVectors);
    const FloatRow* const row = find_unary(call->op);
    if (row == nullptr) vd_unimplemented("this function in SFPI code", fiber->line);
    if (row->op == Sfpu::Recip) require_sfpu_init(Sfpu::Recip, row->name);  // Newton's constants are the init's
    const chip::VectorFunction rule = device.bit_true ? chip::library->vector_function(call->op) : nullptr;
    const chip::Variant variant = rule ? chip::library->variant_of(*call) : chip::Variant{};
    Scalars s{};
    for (uint32_t i = 0; i < 3; ++i) {
        s.u[i] = call->param[i];
        s.f[i] = float_of(call->param[i]);
    }
    const bool rounds = rule == nullptr && row->store == Store::NearestEven && !core->group->fp32_dest && !device.exact;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const float y = rule ? rule(x[lane], 0.0f, 0.0f, variant) : row->apply(x[lane], 0.0f, 0.0f, s);
        result[lane] = rounds ? nearest_even_bfloat16(y) : y;
    }
}

}  // extern "C"
