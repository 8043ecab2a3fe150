// Reductions of tiles: reduce_tile and reduce_block_max_row.
//
// The result lies in column 0 (REDUCE_ROW), row 0 (REDUCE_COL) or element [0,0]; the packer's mask makes the rest zero.
// In DST the rest holds leftovers of the reduction; here it is NaN, so that nobody takes it for a number.
#include <algorithm>
#include <cstring>

#include "kept.h"
#include "numerics.h"
#include "tile_shapes.h"

using namespace vd;
using ckernel::PoolType;
using ckernel::ReduceDim;

namespace {

constexpr const char* kPools[] = {"SUM", "AVG", "MAX", "MIN"};
constexpr const char* kReduceDims[] = {"REDUCE_ROW", "REDUCE_COL", "REDUCE_SCALAR"};

// Sums over rows are a matrix product: the scaler goes through SrcA, the data through SrcB.
bool swaps_operands(PoolType pool, ReduceDim dim) { return dim == ReduceDim::REDUCE_ROW && pool != PoolType::MAX; }

void require_reduce(PoolType pool, ReduceDim dim) {
    const Engine& engine = core->engine;
    require_family(Family::Reduce, "reduce_tile", "reduce_init");
    if (engine.pool != pool || engine.dim != dim) {
        breach("init-mismatch", "reduce_tile<%s, %s> after reduce_init<%s, %s>", kPools[static_cast<uint32_t>(pool)],
               kReduceDims[static_cast<uint32_t>(dim)], kPools[static_cast<uint32_t>(engine.pool)],
               kReduceDims[static_cast<uint32_t>(engine.dim)]);
    }
    if (!engine.masked) breach("init", "reduce_tile after reduce_uninit: reduce_init must be called again");
}

// How many of the 32 elements along the reduced axis the faces `first` and `second` of a scaler tile let through.
uint32_t filled(const Tile& scaler, uint32_t first, uint32_t second) {
    uint32_t count = 0;
    while (count < 2 * kFace && scaler.at[count < kFace ? first : second][0][count % kFace] != 0.0f) ++count;
    return count;
}

// Element k of row 0 of a face weighs column k (REDUCE_ROW) or row k (REDUCE_COL) of that face of the data. A sum may let
// through the first elements only: the last tile of a tensor that is no multiple of 32.
uint32_t valid_elements(const Tile& scaler, PoolType pool, ReduceDim dim) {
    if (pool == PoolType::MAX || dim == ReduceDim::REDUCE_SCALAR || device.numberless) return 2 * kFace;
    const bool row = dim == ReduceDim::REDUCE_ROW;
    const uint32_t count = filled(scaler, 0, row ? 1 : 2);
    return count != 0 && count == filled(scaler, row ? 2 : 1, 3) ? count : 2 * kFace;
}

void drop_invalid(Tile& data, ReduceDim dim, uint32_t valid) {
    const bool row = dim == ReduceDim::REDUCE_ROW;
    for (uint32_t face = 0; face < 4; ++face) {
        const uint32_t begin = (row ? face % 2 : face / 2) * kFace;
        for (uint32_t i = 0; i < kFace * kFace; ++i) {
            if (begin + (row ? i % kFace : i / kFace) >= valid) data.at[face][i / kFace][i % kFace] = 0.0f;
        }
    }
}

// Row 0 of each face of the scaler tile is used: it must be filled as far as elements are valid, with one factor.
void check_scaler(const Tile& scaler, uint32_t cb, PoolType pool, uint32_t faces, ReduceDim dim, uint32_t valid) {
    if (device.numberless) return;
    const float factor = scaler.at[0][0][0];
    for (uint32_t i = 0; i < faces * kFace; ++i) {
        const float value = scaler.at[i / kFace][0][i % kFace];
        const uint32_t half = dim == ReduceDim::REDUCE_ROW ? i / kFace % 2 : i / kFace / 2;
        const bool expected = half * kFace + i % kFace < valid;
        if (value == (expected ? factor : 0.0f) && factor != 0.0f) continue;
        if (value != 0.0f) vd_unimplemented("a reduce scaler with different factors", fiber->line);
        breach("reduce-scaler",
               "row 0 of face %u of the scaler tile in CB %u '%s' holds a zero at column %u: fill the first row of each "
               "face with the factor",
               i / kFace, cb, cb_config(cb).name, i % kFace);
    }
    if (pool == PoolType::MAX && factor != 1.0f) {
        vd_unimplemented("reduce MAX with a scaler other than 1.0", fiber->line);
    }
}

// Of tiles with fewer rows the engine takes the two upper faces alone. A maximum does not change when they are taken twice,
// nor does a sum when zeros are added.
void fill_lower_faces(Tile& tile) { std::memcpy(tile.at[2], tile.at[0], sizeof tile.at[0] * 2); }

uint32_t reduced_rows(uint32_t in, uint32_t scaler, ReduceDim dim) {
    const uint32_t rows = tile_rows(in);
    if (rows > tile_rows(scaler)) {
        undefined("reduce_tile of CB %u '%s', whose tiles have %u rows, with a scaler of %u rows", in, cb_config(in).name, rows,
                  tile_rows(scaler));
    }
    if (rows < kFace && dim != ReduceDim::REDUCE_ROW) {
        vd_unimplemented("a reduction along the rows of tiles with fewer than 16", fiber->line);
    }
    return rows;
}

void poison(Tile& tile) {
    const uint32_t bits = 0x7FC0A5A5u;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    float* at = &tile.at[0][0][0];
    for (uint32_t i = 0; i < kTileElements; ++i) at[i] = value;
}

ReduceAxis axis_of(ReduceDim dim) {
    return dim == ReduceDim::REDUCE_ROW   ? ReduceAxis::Row
           : dim == ReduceDim::REDUCE_COL ? ReduceAxis::Col
                                          : ReduceAxis::Scalar;
}

// The engine keeps running maxima of rows in row 0 of the left faces and turns them into column 0 for the packer. A tile
// that something else put into DST is taken as such maxima: a copy must have transposed inside the faces.
void take_row_maxima(Tile& tile) {
    for (const uint32_t face : {0u, 2u}) {
        float maxima[kFace];
        std::memcpy(maxima, tile.at[face][0], sizeof maxima);
        for (uint32_t row = 0; row < kFace; ++row) tile.at[face][row][0] = maxima[row];
    }
}

// dst = (what it holds, if anything) combined with the reduction of `data`.
void reduce_into(uint32_t dst, const Tile& data, float factor, PoolType pool, ReduceDim dim, DataFormat format) {
    Engine& engine = core->engine;
    const bool fresh = engine.section.tiles[dst] == DstTile::Zero;
    if (device.numberless) {
        engine.section.tiles[dst] = DstTile::Reduced;
        engine.section.reduced[dst] = true;
        return;
    }
    if (fresh) poison(engine.section.dst[dst]);
    if (!fresh) written_dst_tile(dst, "reduce_tile");
    if (engine.section.tiles[dst] == DstTile::Written && pool == PoolType::MAX && dim == ReduceDim::REDUCE_ROW) {
        take_row_maxima(engine.section.dst[dst]);
    }
    if (pool == PoolType::MAX) {
        reduce_max(engine.section.dst[dst], data, axis_of(dim), format, fresh);
    } else {
        reduce_sum(engine.section.dst[dst], data, factor, axis_of(dim), format, fresh);
    }
    engine.section.tiles[dst] = DstTile::Reduced;
    engine.section.reduced[dst] = true;
}

// The packer's part of a reduction: its mask.
void set_mask(bool on, ReduceDim dim, const char* cost, uint32_t line) {
    KEEP_OR_BEGIN(kPack, [=] { set_mask(on, dim, cost, line); });
    if (cost != nullptr) note::work(note::Processor::Pack, cost, "reduce");
    core->engine.mask = {on, dim, line};
}

void expect_mask(bool on, const char* what, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { expect_mask(on, what, line); });
    require_started(what);
    core->engine.masked = on;
}

void begin_reduction(uint32_t pool, uint32_t dim, uint32_t in, uint32_t scaler, bool masked, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { begin_reduction(pool, dim, in, scaler, masked, line); });
    note::configure("reduce");
    begin_family(Family::Reduce, "reduce_init");
    cb_config(in);
    cb_config(scaler);
    Engine& engine = core->engine;
    engine.pool = static_cast<PoolType>(pool);
    engine.dim = static_cast<ReduceDim>(dim);
    engine.masked = engine.masked || masked;
    if (engine.pool == PoolType::MIN) vd_unimplemented("reduce_init of PoolType::MIN", line);
}

void begin_block_max(uint32_t tiles, bool triggered, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { begin_block_max(tiles, triggered, line); });
    note::configure("reduce");
    begin_family(Family::BlockMax, "reduce_block_max_row_init");
    if (triggered && tiles % 2 != 0) undefined("reduce_block_max_row of %u tiles in two halves", tiles);
    core->engine.ct = tiles;
    core->engine.triggered = triggered;
    core->engine.masked = true;
}

}  // namespace

extern "C" {

void vd_reduce_init(uint32_t pool, uint32_t dim, uint32_t in, uint32_t scaler, uint32_t out, uint32_t line) {
    begin(line);
    cb_config(out);
    begin_reduction(pool, dim, in, scaler, true, line);
    set_mask(true, static_cast<ReduceDim>(dim), "init", line);
}

void vd_reduce_reinit(uint32_t pool, uint32_t dim, uint32_t in, uint32_t scaler, uint32_t line) {
    begin_reduction(pool, dim, in, scaler, false, line);  // the packer stays as an earlier reduce_init left it
}

void vd_reduce_tile(uint32_t pool_number, uint32_t dim_number, uint32_t in, uint32_t scaler, uint32_t tile,
                    uint32_t scaler_tile, uint32_t dst, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_reduce_tile(pool_number, dim_number, in, scaler, tile, scaler_tile, dst, line); });
    const PoolType pool = static_cast<PoolType>(pool_number);
    const ReduceDim dim = static_cast<ReduceDim>(dim_number);
    note::operands("reduce", in, kReduceDims[dim_number]);
    note::math("reduce", kReduceDims[dim_number], pool == PoolType::MAX ? "max" : note::fidelity());
    require_math("reduce_tile");
    require_reduce(pool, dim);
    const bool swapped = swaps_operands(pool, dim);
    require_srca(swapped ? scaler : in, "reduce_tile");
    require_srcb(swapped ? in : scaler, "reduce_tile");
    require_source_operand(in, "reduce_tile");
    require_source_operand(scaler, "reduce_tile");

    Engine& engine = core->engine;
    dst_tile(dst);
    Tile& data = engine.srca_tiles[0];
    Tile& factors = engine.srcb_tiles[0];
    load_operand(in, tile, data);
    load_operand(scaler, scaler_tile, factors);
    const uint32_t rows = reduced_rows(in, scaler, dim), before = engine.section.rows[dst];
    if (rows < 2 * kFace && pool == PoolType::MAX && !device.numberless) fill_lower_faces(data);
    if (rows < 2 * kFace && !device.numberless) fill_lower_faces(factors);
    const bool fresh = engine.section.tiles[dst] == DstTile::Zero;
    const uint32_t valid = valid_elements(factors, pool, dim);
    check_scaler(factors, scaler, pool, 4, dim, valid);
    if (valid < 2 * kFace) drop_invalid(data, dim, valid);
    reduce_into(dst, data, factors.at[0][0][0], pool, dim, cb_config(in).declared);
    const bool down = dim != ReduceDim::REDUCE_ROW;  // the result is in the first row
    engine.section.rows[dst] = static_cast<uint8_t>(down ? 2 * kFace : fresh ? rows : std::min(rows, before));
}

void vd_pack_reduce_mask(uint32_t dim, uint32_t line) {
    expect_mask(true, "the packer's reduce mask", line);
    set_mask(true, static_cast<ReduceDim>(dim), nullptr, line);
}

void vd_reduce_uninit(uint32_t line) {
    expect_mask(false, "reduce_uninit", line);
    set_mask(false, ReduceDim::REDUCE_ROW, "uninit", line);
}

void vd_block_max_init(uint32_t tiles, uint32_t out, bool triggered, uint32_t line) {
    begin(line);
    cb_config(out);
    begin_block_max(tiles, triggered, line);
    set_mask(true, ReduceDim::REDUCE_ROW, "init", line);
}

void vd_block_max(uint32_t tiles, uint32_t in, uint32_t scaler, uint32_t first, uint32_t dst, bool triggered,
                  uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_block_max(tiles, in, scaler, first, dst, triggered, line); });
    const char* what = "reduce_block_max_row";
    Engine& engine = core->engine;
    require_math(what);
    require_family(Family::BlockMax, what, "reduce_block_max_row_init");
    if (tiles == kTilesOfInit) tiles = engine.ct;
    if (engine.ct != tiles) {
        breach("init-mismatch", "%s of %u tiles after the init for %u", what, tiles, engine.ct);
    }
    if (engine.triggered != triggered) breach("init-mismatch", "%s with another respect_trigger than its init", what);
    if (triggered) wait_for_pushed(in);
    require_srca(in, what);
    require_srcb(scaler, what);
    require_source_operand(in, what);
    require_source_operand(scaler, what);
    for (const uint32_t cb : {in, scaler}) {
        if (cb_config(cb).declared != DataFormat::Float16_b) {
            undefined("%s reads CB %u '%s' (%s): the SDK defines it for Float16_b only", what, cb, cb_config(cb).name,
                      format_name(cb_config(cb).declared));
        }
    }
    dst_tile(dst);
    require_whole_tile(in, what);
    require_whole_tile(scaler, what);
    Tile& data = engine.srca_tiles[0];
    Tile& factors = engine.srcb_tiles[0];
    load_operand(scaler, 0, factors);
    check_scaler(factors, scaler, PoolType::MAX, 1, ReduceDim::REDUCE_ROW, 2 * kFace);
    for (uint32_t t = 0; t < tiles; ++t) {
        note::operands("block_max", in), note::math("block_max");
        load_operand(in, first + t, data);
        reduce_into(dst, data, 1.0f, PoolType::MAX, ReduceDim::REDUCE_ROW, DataFormat::Float16_b);
    }
}

void vd_block_max_uninit(uint32_t line) {
    expect_mask(false, "reduce_block_max_row_uninit", line);
    set_mask(false, ReduceDim::REDUCE_ROW, nullptr, line);
}

}  // extern "C"
