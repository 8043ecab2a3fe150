// Matrix products. in0 goes through SrcB, in1 through SrcA; one call is one K step of an rt x ct block.
#include <algorithm>

#include "kept.h"
#include "numerics.h"
#include "tile_shapes.h"

using namespace vd;

namespace {

constexpr const char* kNames[] = {"matmul_tiles", "matmul_block", "matmul_block_no_mop"};
constexpr const char* kInits[] = {"matmul_init", "matmul_block_init", "mm_no_mop_init_short"};
constexpr Family kFamilies[] = {Family::Matmul, Family::MatmulBlock, Family::MatmulNoMop};

void check_shape(Product form, uint32_t transpose, uint32_t ct, uint32_t rt, uint32_t kt) {
    const Engine& engine = core->engine;
    const char* what = kNames[static_cast<uint32_t>(form)];
    const char* init = kInits[static_cast<uint32_t>(form)];
    const Family wanted = kFamilies[static_cast<uint32_t>(form)];
    if (engine.family == Family::None) breach("init", "%s without %s", what, init);
    if (engine.family != wanted) {
        breach("init", "%s after the init of another operation (%s): %s must be called again", what,
               family_name(engine.family), init);
    }
    if (form == Product::Tiles) return;
    if (engine.ct == ct && engine.rt == rt && engine.kt == kt && engine.transpose == transpose) return;
    constexpr const char* text = "%s with transpose %u, ct %u, rt %u, kt %u after %s with %u, %u, %u, %u";
    // The longer side is a count of the call; the init programs which side is longer, and the shorter one.
    const bool wide = engine.ct >= engine.rt;
    const bool programmed = wide == (ct >= rt) && (wide ? engine.rt == rt : engine.ct == ct);
    if (programmed && engine.kt == kt && engine.transpose == transpose) {
        return complain("init-mismatch", text, what, transpose, ct, rt, kt, init, engine.transpose, engine.ct, engine.rt,
                        engine.kt);
    }
    breach("init-mismatch", text, what, transpose, ct, rt, kt, init, engine.transpose, engine.ct, engine.rt, engine.kt);
}

}  // namespace

extern "C" {

void vd_matmul_init(uint32_t in0, uint32_t in1, Product form, uint32_t transpose, uint32_t ct, uint32_t rt, uint32_t kt,
                    uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_matmul_init(in0, in1, form, transpose, ct, rt, kt, line); });
    note::configure(form == Product::Tiles ? "matmul" : "matmul_block");
    cb_config(in0);
    cb_config(in1);
    begin_family(kFamilies[static_cast<uint32_t>(form)], kInits[static_cast<uint32_t>(form)]);
    Engine& engine = core->engine;
    engine.transpose = transpose != 0;
    engine.ct = ct;
    engine.rt = rt;
    engine.kt = kt;
}

void vd_matmul(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t dst, Product form,
               uint32_t transpose, uint32_t ct, uint32_t rt, uint32_t kt, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_matmul(in0, in1, tile0, tile1, dst, form, transpose, ct, rt, kt, line); });
    note::matmul(in0, in1, ct, rt);
    const char* what = kNames[static_cast<uint32_t>(form)];
    require_math(what);
    check_shape(form, transpose != 0, ct, rt, kt);
    require_order(true, what);
    require_srca(in1, what);
    require_srcb(in0, what);
    require_source_operand(in0, what);
    require_source_operand(in1, what);
    if (rt == 0 || ct == 0) breach("dst-index", "%s of %u x %u tiles", what, rt, ct);
    dst_tile(dst + rt * ct - 1);
    const uint32_t rows = tile_rows(in0);
    require_whole_tile(in1, "the second operand of a product");

    Engine& engine = core->engine;
    if (device.numberless) {
        for (uint32_t row = 0; row < rt; ++row) readable_tile(in0, tile0 + row * kt);
        for (uint32_t col = 0; col < ct; ++col) readable_tile(in1, tile1 + col);
        for (uint32_t out = dst; out < dst + rt * ct; ++out) mark_written_rows(out, rows);
        return;
    }
    const Cut cut = source_cut();
    for (uint32_t col = 0; col < ct; ++col) {
        unpack_page(cb_config(in1), readable_tile(in1, tile1 + col), cut, engine.srca_tiles[col]);
        cut_to_fidelity(engine.srca_tiles[col], true);
        if (engine.transpose) transpose_in_place(engine.srca_tiles[col]);
    }
    for (uint32_t row = 0; row < rt; ++row) {
        Tile& left = engine.srcb_tiles[0];
        unpack_page(cb_config(in0), readable_tile(in0, tile0 + row * kt), cut, left);
        cut_to_fidelity(left, false);
        for (uint32_t col = 0; col < ct; ++col) {
            const uint32_t out = dst + row * ct + col;
            const bool fresh = engine.section.tiles[out] == DstTile::Zero;
            multiply_tile(fresh ? engine.section.dst[out] : written_dst_tile(out, what), left, engine.srca_tiles[col], fresh);
            mark_written_rows(out, fresh ? rows : std::min<uint32_t>(rows, engine.section.rows[out]));
        }
    }
}

}  // extern "C"
