// Copies between circular buffers and DST: copy_tile, transpose_tile, pack_tile.
#include "numerics.h"

namespace vd {
namespace {

void require_family(Family wanted, const char* what, const char* init) {
    const Family family = core->engine.family;
    if (family == wanted) return;
    if (family == Family::None) breach("init", "%s without %s", what, init);
    breach("init", "%s after the init of another operation (%s): %s must be called again", what, family_name(family),
           init);
}

void unpack_to_dst(uint32_t cb, uint32_t tile, uint32_t dst, bool transpose, const char* what) {
    const CbConfig& config = cb_config(cb);
    require_srca(cb, what);
    Tile& out = dst_tile(dst);
    const uint8_t* page = readable_tile(cb, tile);
    const bool whole = config.to_dest && core->group->fp32_dest;
    unpack_tile(config.storage, page, whole ? Cut::None : source_cut(), out);
    if (!whole) source_to_dst(out);
    if (transpose) transpose_in_place(out);
    core->engine.tiles[dst] = DstTile::Written;
}

}  // namespace
}  // namespace vd

using namespace vd;

extern "C" {

void vd_copy_init(uint32_t cb, bool transpose, uint32_t line) {
    enter(line);
    require_started("copy_tile_to_dst_init_short");
    cb_config(cb);
    core->engine.family = Family::Copy;
    core->engine.transpose = transpose;
}

void vd_copy_tile(uint32_t cb, uint32_t tile, uint32_t dst, uint32_t line) {
    enter(line);
    require_math("copy_tile");
    require_family(Family::Copy, "copy_tile", "copy_tile_to_dst_init_short");
    unpack_to_dst(cb, tile, dst, core->engine.transpose != 0, "copy_tile");
}

void vd_transpose_init(uint32_t cb, uint32_t line) {
    enter(line);
    require_started("transpose_init");
    cb_config(cb);
    core->engine.family = Family::Transpose;
}

void vd_transpose_tile(uint32_t cb, uint32_t tile, uint32_t dst, uint32_t line) {
    enter(line);
    require_math("transpose_tile");
    require_family(Family::Transpose, "transpose_tile", "transpose_init");
    unpack_to_dst(cb, tile, dst, true, "transpose_tile");
}

void vd_pack_tile(uint32_t dst, uint32_t cb, bool indexed, uint32_t index, uint32_t line) {
    enter(line);
    require_started("pack_tile");
    Engine& engine = core->engine;
    if (engine.dst_state != DstState::Waited) {
        breach("dst-protocol", "pack_tile before tile_regs_wait has handed DST to the packer");
    }
    const Tile& tile = written_dst_tile(dst, "pack_tile");
    const CbConfig& config = cb_config(cb);
    const CbConfig& configured = cb_config(engine.pack_cb);
    if (configured.declared != config.declared) {
        breach("data-format",
               "pack_tile to CB %u '%s' (%s), but the packer is configured for CB %u '%s' (%s): "
               "pack_reconfig_data_format is missing",
               cb, config.name, format_name(config.declared), engine.pack_cb, configured.name,
               format_name(configured.declared));
    }
    CbState& state = core->cbs[cb];
    uint32_t page = 0;
    uint8_t* to = packable_tile(cb, indexed ? index : state.pack_cursor, page);
    if (!indexed) ++state.pack_cursor;
    Page& target = state.pages[page];
    if (engine.l1_acc && !target.written) {
        breach("l1-accumulate", "the packer adds onto page %u of CB %u '%s', which holds no sum to add to", page, cb,
               config.name);
    }
    // Switching accumulation off in between says that the page is meant to be overwritten.
    if (!engine.l1_acc && target.packed && target.overwrite_calls == engine.overwrite_calls) {
        breach("cb-overwrite", "pack_tile overwrites page %u of CB %u '%s', packed before and not yet pushed", page, cb,
               config.name);
    }
    target.written = target.packed = true;
    target.overwrite_calls = engine.overwrite_calls;
    pack_tile(config.storage, tile, engine.l1_acc, to);
}

}  // extern "C"
