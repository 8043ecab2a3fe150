// Copies between circular buffers and DST: copy_tile, transpose_tile, unary_bcast, pack_tile.
#include <cstring>
#include <utility>

#include "kept.h"
#include "numerics.h"
#include "tile_shapes.h"

namespace vd {
namespace {

constexpr const char* kDims[] = {"REDUCE_ROW", "REDUCE_COL", "REDUCE_SCALAR"};

void unpack_to_dst(uint32_t cb, uint32_t tile, uint32_t dst, uint32_t transpose, const char* what,
                   uint32_t row = kAllRows) {
    const CbConfig& config = cb_config(cb);
    require_srca(cb, what);
    require_wide_dst(config.declared, what);
    Tile& out = dst_tile(dst);
    load_operand(cb, tile, out, row);
    const uint32_t rows = tile_rows(cb);
    if (transpose != 0) require_whole_tile(cb, "a transposition");
    if (device.numberless) return mark_written_rows(dst, rows);
    if (!goes_to_dst(cb)) source_to_dst(out);
    if (transpose & kWithinTransposed) transpose_in_place(out);
    // Both at once are the transpose of a tile, which has moved the faces already.
    const bool faces_moved = (transpose & kWithinTransposed) != 0;
    if (((transpose & kFacesTransposed) != 0) != faces_moved) std::swap(out.at[1], out.at[2]);
    mark_written_rows(dst, rows);
}

// What the packer's reduce mask lets through; the rest becomes zero.
bool passes(ckernel::ReduceDim dim, uint32_t face, uint32_t row, uint32_t col) {
    const bool first_col = (face & 1) == 0 && col == 0, first_row = face < 2 && row == 0;
    if (dim == ckernel::ReduceDim::REDUCE_ROW) return first_col;
    if (dim == ckernel::ReduceDim::REDUCE_COL) return first_row;
    return first_col && first_row;
}

void apply_mask(ckernel::ReduceDim dim, Tile& tile) {
    for (uint32_t face = 0; face < 4; ++face) {
        for (uint32_t row = 0; row < kFace; ++row) {
            for (uint32_t col = 0; col < kFace; ++col) {
                if (!passes(dim, face, row, col)) tile.at[face][row][col] = 0.0f;
            }
        }
    }
}

// The packer's ReLU: below zero, or below (above) a threshold of 16 bits.
void apply_relu(uint32_t mode, uint32_t threshold_bits, Tile& tile) {
    float threshold;
    const uint32_t wide = threshold_bits << 16;
    std::memcpy(&threshold, &wide, sizeof threshold);
    float* at = &tile.at[0][0][0];
    for (uint32_t i = 0; i < kTileElements; ++i) {
        float& x = at[i];
        if (mode == 1) x = x > 0.0f ? x : 0.0f;
        if (mode == 2) x = x > threshold ? x : 0.0f;
        if (mode == 3) x = x < 0.0f ? 0.0f : x > threshold ? threshold : x;
    }
}

}  // namespace

void load_operand(uint32_t cb, uint32_t tile, Tile& out, uint32_t row) {
    const CbConfig& config = cb_config(cb);
    const uint8_t* page = readable_tile(cb, tile, row);
    tile_rows(cb);
    if (device.numberless) return;
    unpack_page(config, page, goes_to_dst(cb) ? Cut::None : source_cut(), out);
}

bool goes_to_dst(uint32_t cb) {
    const CbConfig& config = cb_config(cb);
    return is_integer(config.storage) || (config.to_dest && core->group->fp32_dest);
}

void check_packer(uint32_t cb, const char* what, bool reduced) {
    require_started(what);
    const Engine& engine = core->engine;
    const CbConfig& config = cb_config(cb);
    const CbConfig& configured = cb_config(engine.pack_cb);
    if (configured.declared != config.declared) {
        breach("data-format",
               "%s to CB %u '%s' (%s), but the packer is configured for CB %u '%s' (%s): "
               "pack_reconfig_data_format is missing",
               what, cb, config.name, format_name(config.declared), engine.pack_cb, configured.name,
               format_name(configured.declared));
    }
    if (configured.tile_rows != config.tile_rows) {
        complain("init-mismatch", "%s to CB %u '%s', whose tiles have %u rows, but the packer is set up for CB %u '%s', whose "
                 "tiles have %u", what, cb, config.name, config.tile_rows, engine.pack_cb, configured.name,
                 configured.tile_rows);
    }
    const bool reduces = engine.family == Family::Reduce || engine.family == Family::BlockMax;
    if (engine.mask.on && !reduces && !reduced) {
        complain("uninit",
               "%s while the packer still has the mask of %s (reduce_init at line %u), which zeroes all but the result "
               "of a reduction: reduce_uninit is missing",
               what, kDims[static_cast<uint32_t>(engine.mask.dim)], engine.mask.line);
    }
    require_wide_dst(config.declared, what);
}

void mark_packed(Page& page) {
    page.written = page.packed = true;
    page.overwrite_calls = core->engine.overwrite_calls;
    page.packed_line = fiber->line;
    core->engine.section.packed = true;
}

void store_tile(uint32_t cb, const Tile& tile, bool accumulate, uint8_t* page) {
    if (device.numberless) return;
    const Engine& engine = core->engine;
    const CbConfig& config = cb_config(cb);
    const bool plain = is_integer(config.storage) || (!engine.mask.on && engine.relu == 0);
    if (plain) return pack_page(config, tile, accumulate, page);
    Tile changed = tile;
    if (engine.mask.on) apply_mask(engine.mask.dim, changed);
    if (engine.relu != 0) apply_relu(engine.relu, engine.relu_threshold, changed);
    pack_page(config, changed, accumulate, page);
}

}  // namespace vd

using namespace vd;

// A result that is added twice to the same sum: a pack too many. Not so if the tile was computed anew in between, or the
// page pushed or overwritten. acquire_dst gives DST to math and pack at once, so there it is not known.
static void note_addition(const Addition& now, bool computed_anew, uint32_t page, uint32_t cb) {
    std::vector<Addition>& added = core->engine.section.added;
    const bool adds = core->engine.l1_acc;
    for (std::size_t i = 0; i < added.size(); ++i) {
        const Addition& one = added[i];
        if (one.to != now.to || (adds && one.dst != now.dst)) continue;
        const bool again = adds && !computed_anew && core->cbs[cb].pages[page].packed && !core->engine.owners.shared;
        if (again) {
            complain("l1-accumulate", "pack_tile adds DST tile %u to page %u of CB %u '%s' again: line %u added it in the same "
                     "section, between tile_regs_wait and tile_regs_release", now.dst, page, cb, cb_config(cb).name, one.line);
        }
        added.erase(added.begin() + static_cast<std::ptrdiff_t>(i--));
    }
    if (adds) added.push_back(now);
}

static void pack_one(uint32_t dst, uint32_t cb, bool indexed, uint32_t index, uint32_t line) {
    require_pack("pack_tile");
    const PackView view;
    Engine& engine = core->engine;
    dst_tile(dst);
    const bool computed_anew = engine.section.unused[dst];
    const Tile& tile = written_dst_tile(dst, "pack_tile");
    check_packer(cb, "pack_tile", engine.section.reduced[dst]);
    require_rows(dst, cb);
    if (engine.untilize.on) {
        breach("uninit", "pack_tile while the packer untilizes (since line %u): pack_untilize_uninit is missing",
               engine.untilize.line);
    }
    const CbConfig& config = cb_config(cb);
    CbState& state = core->cbs[cb];
    uint32_t page = 0;
    uint8_t* to = packable_tile(cb, indexed ? index : state.pack_cursor, page);
    if (!indexed) ++state.pack_cursor;
    Page& target = state.pages[page];
    if (engine.l1_acc && !target.written) {
        breach("l1-accumulate", "the packer adds onto page %u of CB %u '%s', which holds no sum to add to", page, cb,
               config.name);
    }
    if (engine.l1_acc_cb == kNoneYet) engine.l1_acc_cb = cb;
    if (engine.l1_acc && !target.packed && engine.l1_acc_cb != cb) {
        breach("l1-accumulate",
               "the packer adds onto what page %u of CB %u '%s' held before: accumulation was switched on for CB %u "
               "(line %u)",
               page, cb, config.name, engine.l1_acc_cb, engine.l1_acc_line);
    }
    // Switching accumulation off in between says that the page is meant to be overwritten. Not so if the same call
    // packed it before anything was switched for this buffer: then the switch comes a round late, and a term gets lost.
    const bool late = target.packed_line == line && !target.packed_as_set;
    const bool between = state.write_shift != 0 || target.in_part;
    if (!engine.l1_acc && !between && target.packed && (target.overwrite_calls == engine.overwrite_calls || late)) {
        complain("cb-overwrite", "pack_tile overwrites page %u of CB %u '%s', packed before and not yet pushed", page, cb,
               config.name);
    }
    note_addition({dst, line, to}, computed_anew, page, cb);
    const bool again = state.held && !is_back(cb, page);  // it is published already, and changed in place
    mark_packed(target);
    target.packed = !again;
    target.packed_as_set = engine.l1_acc_cb == cb;
    store_tile(cb, tile, engine.l1_acc, to);
}

extern "C" {

void vd_copy_init(uint32_t cb, bool transpose_faces, bool transpose_within, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_copy_init(cb, transpose_faces, transpose_within, line); });
    note::configure("copy");
    begin_family(Family::Copy, "copy_tile_to_dst_init_short");
    cb_config(cb);
    core->engine.init_cb = cb;
    core->engine.transpose = (transpose_faces ? kFacesTransposed : 0u) | (transpose_within ? kWithinTransposed : 0u);
}

void vd_copy_tile(uint32_t cb, uint32_t tile, uint32_t dst, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_copy_tile(cb, tile, dst, line); });
    note::copy(cb);
    require_math("copy_tile");
    require_family(Family::Copy, "copy_tile", "copy_tile_to_dst_init_short");
    require_same_route(cb, "copy_tile", "copy_tile_to_dst_init_short");
    const uint32_t transpose = core->engine.transpose;
    const UnwrittenPage page = unwritten_page(cb, tile);
    const bool first_row = page.pushed_line != 0 && transpose == 0;  // is enough if nothing uses the others
    unpack_to_dst(cb, tile, dst, transpose, "copy_tile", first_row ? 0 : kAllRows);
    if (first_row) mark_first_row(dst, page);
}

void vd_transpose_init(uint32_t cb, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_transpose_init(cb, line); });
    note::configure("transpose");
    begin_family(Family::Transpose, "transpose_init");
    cb_config(cb);
    core->engine.init_cb = cb;
}

void vd_transpose_tile(uint32_t cb, uint32_t tile, uint32_t dst, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_transpose_tile(cb, tile, dst, line); });
    note::operands("transpose", cb), note::math("transpose");
    require_math("transpose_tile");
    require_family(Family::Transpose, "transpose_tile", "transpose_init");
    require_same_route(cb, "transpose_tile", "transpose_init");
    unpack_to_dst(cb, tile, dst, kFacesTransposed | kWithinTransposed, "transpose_tile");
}

void vd_unary_bcast_init(uint32_t broadcast, uint32_t cb, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_unary_bcast_init(broadcast, cb, line); });
    note::configure("bcast");
    begin_family(Family::UnaryBcast, "unary_bcast_init");
    cb_config(cb);
    core->engine.init_cb = cb;
    core->engine.broadcast = static_cast<Broadcast>(broadcast);
}

void vd_unary_bcast(uint32_t broadcast, uint32_t cb, uint32_t tile, uint32_t dst, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_unary_bcast(broadcast, cb, tile, dst, line); });
    note::operands("bcast", cb), note::math("bcast");
    require_math("unary_bcast");
    require_family(Family::UnaryBcast, "unary_bcast", "unary_bcast_init");
    require_same_route(cb, "unary_bcast", "unary_bcast_init");
    if (static_cast<Broadcast>(broadcast) == Broadcast::Cols) require_whole_tile(cb, "unary_bcast<COL>");
    if (core->engine.broadcast != static_cast<Broadcast>(broadcast)) {
        breach("init-mismatch", "unary_bcast of another broadcast type than its init");
    }
    const Broadcast type = static_cast<Broadcast>(broadcast);
    // The row is moved from SrcB as it is: 16-bit numbers in 16-bit rows, which are elsewhere in a 32-bit DST.
    const DataFormat format = cb_config(cb).declared;
    const bool wide = format == DataFormat::Float32 || is_32bit_integer(format);
    if (type == Broadcast::Rows && core->group->fp32_dest && !wide) {
        undefined("unary_bcast<ROW> of %s to a 32-bit DST", format_name(format));
    }
    unpack_to_dst(cb, tile, dst, false, "unary_bcast", type == Broadcast::Rows ? 0 : kAllRows);
    broadcast_in_place(type, 0, core->engine.section.dst[dst]);
}

void vd_unary_bcast_uninit(uint32_t cb, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_unary_bcast_uninit(cb, line); });
    require_family(Family::UnaryBcast, "unary_bcast_uninit", "unary_bcast_init");
    cb_config(cb);
    core->engine.family = Family::None;
}

void vd_pack_width(uint32_t cb, uint32_t tiles, uint32_t line) {
    KEEP_OR_BEGIN(kPack, [=] { vd_pack_width(cb, tiles, line); });
    require_started("llk_pack_init");
    cb_config(cb);
    if (tiles == 0) undefined("llk_pack_init of 0 tiles");
    core->engine.pack_width = tiles;
}

void vd_pack_tile(uint32_t dst, uint32_t cb, bool indexed, uint32_t index, uint32_t line) {
    KEEP_OR_BEGIN(kPack, [=] { vd_pack_tile(dst, cb, indexed, index, line); });
    const uint32_t width = core->engine.pack_width;
    if (width > 1 && !indexed) vd_unimplemented("packs of several tiles that follow each other", line);
    for (uint32_t tile = 0; tile < width; ++tile) {
        note::pack(cb);
        pack_one(dst + tile, cb, indexed, index + tile, line);
    }
}

}  // extern "C"
