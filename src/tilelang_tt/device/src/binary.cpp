// Matrix-engine add, sub, mul of two circular buffers, the second one possibly broadcast, or of one and DST.
#include <algorithm>
#include <cstdio>

#include "kept.h"
#include "numerics.h"
#include "tile_shapes.h"

namespace vd {

// Replicates row `row` downwards, column 0 across, or element [0,0].
void broadcast_in_place(Broadcast broadcast, uint32_t row, Tile& tile) {
    if (broadcast == Broadcast::None || device.numberless) return;
    const Tile from = tile;
    for (uint32_t face = 0; face < 4; ++face) {
        for (uint32_t r = 0; r < kFace; ++r) {
            for (uint32_t c = 0; c < kFace; ++c) {
                tile.at[face][r][c] = broadcast == Broadcast::Rows   ? from.at[(row / kFace) * 2 + (face & 1)][row % kFace][c]
                                      : broadcast == Broadcast::Cols ? from.at[face & 2][r][0]
                                                                     : from.at[0][0][0];
            }
        }
    }
}

}  // namespace vd

using namespace vd;

namespace {

const char* kOps[] = {"add", "sub", "mul"};
const char* kBroadcasts[] = {"", "_bcast_rows", "_bcast_cols", "_bcast_scalar"};
const char* kReuses[] = {"NONE", "DEST_TO_SRCA", "DEST_TO_SRCB"};

void combine(Binary op, const Tile& a, const Tile& b, bool add_to_dst, Tile& out) {
    if (device.numberless) return;
    if (op != Binary::Mul) return add_elements(out, a, b, op == Binary::Sub, add_to_dst);
    multiply_elements(out, a, b, add_to_dst);
}

// As many rows as in0 has are computed. Of in1 as many are unpacked, but for a row or an element that is spread.
uint32_t common_rows(uint32_t in0, uint32_t in1, Broadcast broadcast, const char* name) {
    const uint32_t rows = tile_rows(in0), others = tile_rows(in1);
    const bool few = broadcast == Broadcast::Rows || broadcast == Broadcast::Scalar;
    if (rows > others && !few) {
        undefined("%s_tiles of CB %u '%s', whose tiles have %u rows, and CB %u '%s', whose tiles have %u", name, in0,
                  cb_config(in0).name, rows, in1, cb_config(in1).name, others);
    }
    return rows;
}

void require_init(Binary op, Broadcast broadcast, const char* name) {
    const Engine& engine = core->engine;
    if (engine.family != Family::Binary) {
        breach("init", "%s_tiles without its init: the last init was %s", name, family_name(engine.family));
    }
    if (engine.binary != op || engine.broadcast != broadcast) {
        breach("init-mismatch", "%s_tiles%s after the init of %s_tiles%s", name,
               kBroadcasts[static_cast<uint32_t>(broadcast)], kOps[static_cast<uint32_t>(engine.binary)],
               kBroadcasts[static_cast<uint32_t>(engine.broadcast)]);
    }
}

}  // namespace

extern "C" {

void vd_binary_init(uint32_t op, uint32_t broadcast, uint32_t in0, uint32_t in1, bool accumulate, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_binary_init(op, broadcast, in0, in1, accumulate, line); });
    note::configure("binary");
    begin_family(Family::Binary, "an eltwise binary init");
    cb_config(in0);
    cb_config(in1);
    Engine& engine = core->engine;
    engine.binary = static_cast<Binary>(op);
    engine.broadcast = static_cast<Broadcast>(broadcast);
    engine.accumulate = accumulate;
}

void vd_binary_tile(uint32_t op_number, uint32_t broadcast_number, uint32_t in0, uint32_t in1, uint32_t tile0,
                    uint32_t tile1, uint32_t dst, uint32_t row, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_binary_tile(op_number, broadcast_number, in0, in1, tile0, tile1, dst, row, line); });
    const Binary op = static_cast<Binary>(op_number);
    const Broadcast broadcast = static_cast<Broadcast>(broadcast_number);
    const char* name = kOps[op_number];
    const char* const bcast = kBroadcasts[broadcast_number] + (broadcast_number != 0 ? 1 : 0);
    note::operands("binary", in0, bcast);
    note::math(name, op == Binary::Mul ? note::fidelity() : "", bcast);
    require_math(name);
    require_init(op, broadcast, name);
    require_order(false, name);
    require_srca(in0, name);
    require_srcb(in1, name);
    require_source_operand(in0, name);
    require_source_operand(in1, name);
    if (row >= 2 * kFace) undefined("%s_tiles_bcast_rows of row %u: a tile has 32 rows", name, row);

    Engine& engine = core->engine;
    Tile& out = dst_tile(dst);
    // The chip adds products to what DST holds, whatever the init says; the SDK promises it for accumulation only.
    if (op == Binary::Mul && !engine.accumulate && engine.section.tiles[dst] != DstTile::Zero) {
        undefined("mul_tiles onto DST tile %u, which is already written, without accumulation in its init", dst);
    }
    Tile& a = engine.srca_tiles[0];
    Tile& b = engine.srcb_tiles[0];
    load_operand(in0, tile0, a);
    load_operand(in1, tile1, b, broadcast == Broadcast::Rows ? row : kAllRows);
    broadcast_in_place(broadcast, row, b);
    const uint32_t rows = common_rows(in0, in1, broadcast, name);
    const bool adds = engine.accumulate && engine.section.tiles[dst] != DstTile::Zero;
    combine(op, a, b, adds, adds ? written_dst_tile(dst, name) : out);
    mark_written_rows(dst, adds ? std::min<uint32_t>(rows, engine.section.rows[dst]) : rows);
}

// A row of tiles less a column: in1 is unpacked once, with its first column spread over the others.
void vd_sub_columns_init(uint32_t in0, uint32_t in1, uint32_t tiles, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_sub_columns_init(in0, in1, tiles, line); });
    begin_family(Family::SubColumns, "sub_bcast_cols_init_short_custom");
    cb_config(in0);
    cb_config(in1);
    core->engine.ct = tiles;
}

void vd_sub_columns(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t dst, uint32_t tiles,
                    uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_sub_columns(in0, in1, tile0, tile1, dst, tiles, line); });
    const char* what = "sub_tiles_bcast_cols_custom";
    require_math(what);
    require_family(Family::SubColumns, what, "sub_bcast_cols_init_short_custom");
    if (core->engine.ct != tiles) {
        breach("init-mismatch", "%s of %u tiles after the init for %u", what, tiles, core->engine.ct);
    }
    require_order(false, what);
    require_srca(in0, what);
    require_srcb(in1, what);
    require_source_operand(in0, what);
    require_source_operand(in1, what);
    require_whole_tile(in0, what);
    require_whole_tile(in1, what);
    Engine& engine = core->engine;
    load_operand(in1, tile1, engine.srcb_tiles[0]);
    broadcast_in_place(Broadcast::Cols, 0, engine.srcb_tiles[0]);
    for (uint32_t t = 0; t < tiles; ++t) {
        load_operand(in0, tile0 + t, engine.srca_tiles[0]);
        combine(Binary::Sub, engine.srca_tiles[0], engine.srcb_tiles[0], false, dst_tile(dst + t));
        mark_written(dst + t);
    }
}

void vd_reuse_init(uint32_t op, uint32_t reuse, uint32_t cb, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_reuse_init(op, reuse, cb, line); });
    note::configure("reuse");
    begin_family(Family::Reuse, "an eltwise binary init with DST");
    cb_config(cb);
    core->engine.binary = static_cast<Binary>(op);
    core->engine.reuse = static_cast<Reuse>(reuse);
}

void vd_reuse_tile(uint32_t op_number, uint32_t reuse_number, uint32_t cb, uint32_t tile, uint32_t dst, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_reuse_tile(op_number, reuse_number, cb, tile, dst, line); });
    Engine& engine = core->engine;
    const Binary op = static_cast<Binary>(op_number);
    const Reuse reuse = static_cast<Reuse>(reuse_number);
    note::operands("reuse", cb);
    note::math("reuse", kOps[op_number], op == Binary::Mul ? note::fidelity() : "");
    char what[48];
    std::snprintf(what, sizeof what, "%s_reuse_dest_tiles<%s>", kOps[op_number], kReuses[reuse_number]);
    if (reuse == Reuse::None) undefined("%s: DST goes to SrcA or to SrcB", what);
    require_math(what);
    require_family(Family::Reuse, what, "its init");
    if (engine.binary != op || engine.reuse != reuse) {
        breach("init-mismatch", "%s after the init of %s_reuse_dest_tiles<%s>", what,
               kOps[static_cast<uint32_t>(engine.binary)], kReuses[static_cast<uint32_t>(engine.reuse)]);
    }
    if (reuse == Reuse::DstToSrcA) {
        require_srcb(cb, what);
    } else {
        require_srca(cb, what);
    }
    require_source_operand(cb, what);

    Tile& out = written_dst_tile(dst, what);
    Tile& moved = engine.srca_tiles[0];
    Tile& loaded = engine.srcb_tiles[0];
    load_operand(cb, tile, loaded);
    limit_rows(dst, tile_rows(cb));
    if (!device.numberless) dst_to_source(out, cb_config(cb).declared, moved);
    if (reuse == Reuse::DstToSrcA) {
        combine(op, moved, loaded, false, out);
    } else {
        combine(op, loaded, moved, false, out);
    }
}

}  // extern "C"
