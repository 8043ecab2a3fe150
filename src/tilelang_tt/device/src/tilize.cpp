// Row-major pages to tiles and back: tilize_block, untilize_block, pack_untilize_block, pack_untilize_dest.
//
// A row-major block of n tiles is 32 rows of 32 * n elements, one after the other, over n pages of a circular buffer. Where
// tiles have fewer rows, so has the block.
#include <cstring>

#include "kept.h"
#include "numerics.h"
#include "tile_shapes.h"

using namespace vd;

namespace {

uint32_t rows_of_both(uint32_t in, uint32_t out, const char* what) {
    if (tile_rows(in) != tile_rows(out)) {
        undefined("%s from CB %u '%s', whose tiles have %u rows, to CB %u '%s', whose tiles have %u", what, in,
                  cb_config(in).name, tile_rows(in), out, cb_config(out).name, tile_rows(out));
    }
    return tile_rows(in);
}

// Bytes of an element in a row-major buffer. In `exact` numerics such a buffer keeps its format, so it must be known as
// one when the launch is assembled.
uint32_t element_bytes(uint32_t cb, const char* what) {
    if (cb_config(cb).storage != cb_config(cb).declared) {
        breach("data-format", "%s: CB %u '%s' holds rows, but was declared to hold tiles, which in exact numerics have "
               "32-bit numbers: its CBFormatDescriptor needs layout=Layout.ROW_MAJOR", what, cb, cb_config(cb).name);
    }
    switch (cb_config(cb).storage) {
        case DataFormat::Float32:
        case DataFormat::Int32:
        case DataFormat::UInt32: return 4;
        case DataFormat::Float16:
        case DataFormat::Float16_b:
        case DataFormat::UInt16: return 2;
        case DataFormat::UInt8:
        case DataFormat::Int8: return 1;
        default:
            breach("data-format", "%s of CB %u '%s' (%s): rows of a block format have no row-major order", what, cb,
                   cb_config(cb).name, format_name(cb_config(cb).declared));
    }
}

// Bytes of one tile in row-major order to the order of faces of a whole tile, whose other rows are zero.
void gather_faces(const uint8_t* row_major, std::size_t stride, uint32_t element, uint32_t rows, uint8_t* faces) {
    const std::size_t face_row = kFace * element;
    if (rows < 2 * kFace) std::memset(faces, 0, kTileElements * element);
    for (uint32_t row = 0; row < rows; ++row) {
        for (uint32_t half = 0; half < 2; ++half) {
            const uint32_t face = (row / kFace) * 2 + half;
            std::memcpy(faces + (face * kFace + row % kFace) * face_row, row_major + row * stride + half * face_row,
                        face_row);
        }
    }
}
// And back, from a page of the tile itself.
void scatter_faces(const uint8_t* faces, uint32_t element, uint32_t rows, uint8_t* row_major, std::size_t stride) {
    const std::size_t face_row = kFace * element;
    const uint32_t height = rows < kFace ? rows : kFace;
    for (uint32_t row = 0; row < rows; ++row) {
        for (uint32_t half = 0; half < 2; ++half) {
            const uint32_t face = (row / kFace) * 2 + half;
            std::memcpy(row_major + row * stride + half * face_row, faces + (face * height + row % kFace) * face_row,
                        face_row);
        }
    }
}

// A page in face order to DST, with the cuts of a copy.
void load_page(uint32_t cb, const uint8_t* page, Tile& out) {
    const CbConfig& config = cb_config(cb);
    ++core->statistics.tiles_unpacked;
    if (is_integer(config.storage)) return unpack_integers(config.storage, page, out);
    unpack_tile(config.storage, page, goes_to_dst(cb) ? Cut::None : source_cut(), out);
    if (!goes_to_dst(cb)) source_to_dst(out);
}

// A tile in the same way.
void load_tile(uint32_t cb, uint32_t tile, Tile& out) {
    load_operand(cb, tile, out);
    if (!goes_to_dst(cb)) source_to_dst(out);
}

// One tile to its place in a row-major block of `full` tiles that starts at tile `first` of the buffer.
void store_rows(const Tile& tile, uint32_t cb, uint32_t first, uint32_t full, uint32_t column) {
    const uint32_t element = element_bytes(cb, "untilizing");
    uint8_t faces[kTileElements * 4];
    store_tile(cb, tile, false, faces);
    uint32_t page = 0;
    for (uint32_t t = 0; t < full; ++t) {
        packable_tile(cb, first + t, page);
        mark_packed(core->cbs[cb].pages[page]);
    }
    uint8_t* base = packable_tile(cb, first, page);
    uint8_t* const to = base + std::size_t{column} * 32 * element;
    scatter_faces(faces, element, tile_rows(cb), to, std::size_t{full} * 32 * element);
}

void require_pack_untilize(uint32_t block, uint32_t full, uint32_t cb, const char* what) {
    const Engine& engine = core->engine;
    if (!engine.untilize.on) breach("init", "%s without its init", what);
    if (engine.untilize.block != block || engine.untilize.full != full) {
        breach("init-mismatch", "%s of %u of %u tiles after the init for %u of %u", what, block, full,
               engine.untilize.block, engine.untilize.full);
    }
    const CbConfig& laid_out = cb_config(engine.untilize.cb);
    if (laid_out.declared != cb_config(cb).declared) {
        breach("init-mismatch", "%s to CB %u '%s' (%s) after the init for CB %u '%s' (%s): the init programs the length of "
               "rows", what, cb, cb_config(cb).name, format_name(cb_config(cb).declared), engine.untilize.cb, laid_out.name,
               format_name(laid_out.declared));
    }
    check_packer(cb, what);
    if (engine.l1_acc) vd_unimplemented("pack_untilize with L1 accumulation", fiber->line);
}

}  // namespace

extern "C" {

void vd_tilize_init(uint32_t in, uint32_t tiles, uint32_t out, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_tilize_init(in, tiles, out, line); });
    note::configure("tilize");
    begin_family(Family::Tilize, "tilize_init");
    cb_config(in);
    cb_config(out);
    core->engine.ct = tiles;
    core->engine.init_cb = in;
}

void vd_tilize_block(uint32_t in, uint32_t tiles, uint32_t out, uint32_t first_in, uint32_t first_out, uint32_t line) {
    KEEP_OR_BEGIN(kAll, [=] { vd_tilize_block(in, tiles, out, first_in, first_out, line); });
    note::tiles(in, out, tiles, tiles, "tilize", "tile");
    const char* what = "tilize_block";
    Engine& engine = core->engine;
    require_started(what);
    require_free_dst(what);
    require_family(Family::Tilize, what, "tilize_init");
    if (engine.ct != tiles) breach("init-mismatch", "%s of %u tiles after tilize_init for %u", what, tiles, engine.ct);
    require_same_format(in, what, "tilize_init");
    if (first_in != 0) vd_unimplemented("tilize_block from an input tile other than 0", line);
    require_srca(in, what);
    require_wide_dst(cb_config(in).declared, what);
    check_packer(out, what);
    if (engine.untilize.on) breach("uninit", "%s while the packer untilizes: pack_untilize_uninit is missing", what);
    const uint32_t element = element_bytes(in, what), height = rows_of_both(in, out, what);
    const uint8_t* rows = readable_tile(in, 0);
    readable_tile(in, tiles - 1);
    for (uint32_t t = 0; t < tiles; ++t) {
        uint8_t faces[kTileElements * 4];
        gather_faces(rows + std::size_t{t} * 32 * element, std::size_t{tiles} * 32 * element, element, height, faces);
        load_page(in, faces, engine.section.dst[0]);
        uint32_t page = 0;
        uint8_t* to = packable_tile(out, first_out + t, page);
        mark_packed(core->cbs[out].pages[page]);
        store_tile(out, engine.section.dst[0], engine.l1_acc, to);
    }
}

void vd_tilize_uninit(uint32_t in, uint32_t out, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_tilize_uninit(in, out, line); });
    note::configure("tilize");
    cb_config(in);
    cb_config(out);
    require_family(Family::Tilize, "tilize_uninit", "tilize_init");
    core->engine.family = Family::None;
}

void vd_untilize_init(uint32_t in, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_untilize_init(in, line); });
    note::configure("untilize");
    begin_family(Family::Untilize, "untilize_init");
    cb_config(in);
    core->engine.init_cb = in;
}

void vd_untilize_block(uint32_t in, uint32_t tiles, uint32_t out, uint32_t line) {
    KEEP_OR_BEGIN(kAll, [=] { vd_untilize_block(in, tiles, out, line); });
    note::tiles(in, out, tiles, tiles, "untilize", "tile");
    const char* what = "untilize_block";
    Engine& engine = core->engine;
    require_started(what);
    require_free_dst(what);
    require_family(Family::Untilize, what, "untilize_init");
    require_same_format(in, what, "untilize_init");
    require_srca(in, what);
    check_packer(out, what);
    if (engine.untilize.on) breach("uninit", "%s while the packer untilizes: pack_untilize_uninit is missing", what);
    rows_of_both(in, out, what);
    const uint32_t first = core->cbs[out].pack_cursor;
    for (uint32_t t = 0; t < tiles; ++t) {
        load_tile(in, t, engine.section.dst[0]);
        store_rows(engine.section.dst[0], out, first, tiles, t);
    }
    core->cbs[out].pack_cursor += tiles;
}

void vd_untilize_uninit(uint32_t in, uint32_t line) {
    KEEP_OR_BEGIN(kSource, [=] { vd_untilize_uninit(in, line); });
    note::configure("untilize");
    cb_config(in);
    require_family(Family::Untilize, "untilize_uninit", "untilize_init");
    core->engine.family = Family::None;
}

void vd_pack_untilize_init(uint32_t block, uint32_t full, uint32_t out, uint32_t line) {
    KEEP_OR_BEGIN(kPack, [=] { vd_pack_untilize_init(block, full, out, line); });
    note::work(note::Processor::Pack, "init", "untilize");
    require_started("pack_untilize_init");
    cb_config(out);
    core->engine.pack_cb = out;
    core->engine.untilize = {true, block, full, line, out};
}

void vd_pack_untilize_block(uint32_t in, uint32_t rows, uint32_t block, uint32_t full, uint32_t out,
                            uint32_t block_index, uint32_t line) {
    KEEP_OR_BEGIN(kAll, [=] { vd_pack_untilize_block(in, rows, block, full, out, block_index, line); });
    note::tiles(in, out, block, 1, "copy", "untilize");
    const char* what = "pack_untilize_block";
    Engine& engine = core->engine;
    require_started(what);
    require_free_dst(what);
    require_family(Family::Copy, what, "pack_untilize_init");
    require_same_route(in, what, "pack_untilize_init");
    require_pack_untilize(block, full, out, what);
    if (rows != 1) vd_unimplemented("pack_untilize_block of more than one tile row", line);
    require_srca(in, what);
    require_wide_dst(cb_config(in).declared, what);
    rows_of_both(in, out, what);
    dst_tile(block - 1);
    for (uint32_t t = 0; t < block; ++t) {
        load_tile(in, t, engine.section.dst[0]);
        store_rows(engine.section.dst[0], out, 0, full, block_index * block + t);
    }
}

void vd_pack_untilize_dest(uint32_t block, uint32_t full, uint32_t out, uint32_t rows, uint32_t block_index,
                           uint32_t first_dst, uint32_t line) {
    KEEP_OR_BEGIN(kPack, [=] { vd_pack_untilize_dest(block, full, out, rows, block_index, first_dst, line); });
    note::work(note::Processor::Pack, "untilize", format_name(cb_config(out).declared), note::dst_width(), rows * block);
    const char* what = "pack_untilize_dest";
    require_pack(what);
    const PackView view;
    require_pack_untilize(block, full, out, what);
    for (uint32_t row = 0; row < rows; ++row) {
        for (uint32_t t = 0; t < block; ++t) {
            const Tile& tile = written_dst_tile(first_dst + row * block + t, what);
            require_rows(first_dst + row * block + t, out);
            store_rows(tile, out, row * full, full, block_index * block + t);
        }
    }
}

void vd_pack_untilize_uninit(uint32_t out, uint32_t line) {
    KEEP_OR_BEGIN(kPack, [=] { vd_pack_untilize_uninit(out, line); });
    note::work(note::Processor::Pack, "uninit", "untilize");
    require_started("pack_untilize_uninit");
    cb_config(out);
    core->engine.pack_cb = out;
    core->engine.untilize.on = false;
}

}  // extern "C"
