// Matrix-engine add, sub, mul of two circular buffers, the second one possibly broadcast.
#include "numerics.h"

using namespace vd;

namespace {

const char* kOps[] = {"add", "sub", "mul"};
const char* kBroadcasts[] = {"", "_bcast_rows", "_bcast_cols", "_bcast_scalar"};

// Element of B that meets element (face, row, col) of A.
float right_element(const Tile& b, Broadcast broadcast, uint32_t face, uint32_t row, uint32_t col) {
    switch (broadcast) {
        case Broadcast::Rows: return b.at[face & 1][0][col];
        case Broadcast::Cols: return b.at[face & 2][row][0];
        case Broadcast::Scalar: return b.at[0][0][0];
        default: return b.at[face][row][col];
    }
}

// The tile of B as the engine meets it: its first row, column or element everywhere.
void spread(Tile& b, Broadcast broadcast) {
    const Tile from = b;
    for (uint32_t face = 0; face < 4; ++face) {
        for (uint32_t row = 0; row < kFace; ++row) {
            for (uint32_t col = 0; col < kFace; ++col) {
                b.at[face][row][col] = right_element(from, broadcast, face, row, col);
            }
        }
    }
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
    enter(line);
    require_started("an eltwise binary init");
    cb_config(in0);
    cb_config(in1);
    Engine& engine = core->engine;
    engine.family = Family::Binary;
    engine.binary = static_cast<Binary>(op);
    engine.broadcast = static_cast<Broadcast>(broadcast);
    engine.accumulate = accumulate && engine.binary != Binary::Mul;
}

void vd_binary_tile(uint32_t op_number, uint32_t broadcast_number, uint32_t in0, uint32_t in1, uint32_t tile0,
                    uint32_t tile1, uint32_t dst, uint32_t line) {
    enter(line);
    const Binary op = static_cast<Binary>(op_number);
    const Broadcast broadcast = static_cast<Broadcast>(broadcast_number);
    const char* name = kOps[op_number];
    require_math(name);
    require_init(op, broadcast, name);
    require_order(false, name);
    require_srca(in0, name);
    require_srcb(in1, name);
    Tile& out = dst_tile(dst);
    Engine& engine = core->engine;
    if (op == Binary::Mul && engine.tiles[dst] == DstTile::Written) {
        undefined(
            "mul_tiles onto DST tile %u, which already holds a value: whether it is added to or replaced is not "
            "the same in every mode",
            dst);
    }
    for (const uint32_t cb : {in0, in1}) {
        if (cb_config(cb).to_dest) {
            breach("data-format", "%s reads CB %u '%s', which unpacks to DST: only copy_tile may read it", name, cb,
                   cb_config(cb).name);
        }
    }
    Tile &a = engine.srca_tiles[0], &b = engine.srcb_tiles[0];
    unpack_tile(cb_config(in0).storage, readable_tile(in0, tile0), source_cut(), a);
    unpack_tile(cb_config(in1).storage, readable_tile(in1, tile1), source_cut(), b);
    if (broadcast != Broadcast::None) spread(b, broadcast);
    if (op == Binary::Mul) {
        multiply_elements(out, a, b);
    } else {
        add_elements(out, a, b, op == Binary::Sub, engine.accumulate && engine.tiles[dst] == DstTile::Written);
    }
    engine.tiles[dst] = DstTile::Written;
}

}  // extern "C"
