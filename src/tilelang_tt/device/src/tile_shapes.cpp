// Tiles that are not 32 x 32. The chip has those of 1, 2, 4, 8 and 16 rows of 32: two faces side by side, of so many rows. In
// DST such a tile has the place of a whole one, of which its rows are used; tiles of 16 columns are moved, not computed with.
#include <algorithm>
#include <cstring>

#include "numerics.h"
#include "tile_shapes.h"

namespace vd {
namespace {

constexpr uint32_t kRowsOfFaces = 4 * kFace;        // rows of 16 elements in a whole tile
constexpr uint32_t kWholePage = 4 * kTileElements;  // bytes; the most that one has

// A row of a face in L1: bytes of its elements, and whether an exponent for all of them stands at the start of the page.
struct FaceRow {
    uint32_t bytes;
    bool exponent;
};

FaceRow face_row(DataFormat format) {
    switch (format) {
        case DataFormat::Float32:
        case DataFormat::Int32:
        case DataFormat::UInt32: return {4 * kFace, false};
        case DataFormat::UInt8:
        case DataFormat::Int8: return {kFace, false};
        case DataFormat::Bfp8_b: return {kFace, true};
        case DataFormat::Bfp4_b: return {kFace / 2, true};
        default: return {2 * kFace, false};
    }
}

// Exponents of a page fill whole words of 16 bytes.
uint32_t exponent_bytes(uint32_t rows) { return (rows + 15) / 16 * 16; }

// For every row of the tile, where its bytes lie in its own page and in that of a whole tile.
template <typename Copy>
void each_row(const CbConfig& config, Copy copy) {
    const FaceRow row = face_row(config.storage);
    const uint32_t rows = config.tile_rows;  // of each of its two faces
    const uint32_t own = row.exponent ? exponent_bytes(2 * rows) : 0, whole = row.exponent ? kRowsOfFaces : 0;
    for (uint32_t face = 0; face < 2; ++face) {
        for (uint32_t r = 0; r < rows; ++r) {
            const uint32_t from = face * rows + r, to = face * kFace + r;
            if (row.exponent) copy(from, to, 1u);
            copy(own + from * row.bytes, whole + to * row.bytes, row.bytes);
        }
    }
}

const uint8_t* widened(const CbConfig& config, const uint8_t* page, uint8_t* room) {
    std::memset(room, 0, kWholePage);
    each_row(config, [=](uint32_t own, uint32_t whole, uint32_t bytes) { std::memcpy(room + whole, page + own, bytes); });
    return room;
}

}  // namespace

void require_whole_tile(uint32_t cb, const char* what) {
    const CbConfig& config = cb_config(cb);
    if (config.tile_rows == 2 * kFace && config.tile_cols == 2 * kFace) return;
    undefined("%s of CB %u '%s', whose tiles are %u x %u: the SDK has it for tiles of 32 x 32", what, cb, config.name,
              config.tile_rows, config.tile_cols);
}

uint32_t tile_rows(uint32_t cb) {
    const CbConfig& config = cb_config(cb);
    if (config.tile_cols != 2 * kFace) vd_unimplemented("compute with tiles of 16 columns", fiber->line);
    return config.tile_rows;
}

void unpack_page(const CbConfig& config, const uint8_t* page, Cut cut, Tile& out) {
    alignas(64) uint8_t room[kWholePage];
    if (config.tile_rows != 2 * kFace) page = widened(config, page, room);
    if (!is_integer(config.storage)) return unpack_tile(config.storage, page, cut, out);
    ++core->statistics.tiles_unpacked;
    unpack_integers(config.storage, page, out);
}

void pack_page(const CbConfig& config, const Tile& tile, bool accumulate, uint8_t* page) {
    const bool integers = is_integer(config.storage);
    if (integers && accumulate) vd_unimplemented("packer L1 accumulation of integers", fiber->line);
    alignas(64) uint8_t room[kWholePage];
    const bool whole = config.tile_rows == 2 * kFace;
    uint8_t* const to = whole ? page : room;
    if (!whole && accumulate) widened(config, page, room);
    if (integers) {
        ++core->statistics.tiles_packed;
        pack_integers(config.storage, tile, to);
    } else {
        pack_tile(config.storage, tile, accumulate, to);
    }
    if (whole) return;
    each_row(config, [=](uint32_t own, uint32_t at, uint32_t bytes) { std::memcpy(page + own, to + at, bytes); });
}

void mark_written_rows(uint32_t dst, uint32_t rows) {
    mark_written(dst);
    core->engine.section.rows[dst] = static_cast<uint8_t>(rows);
}

void limit_rows(uint32_t dst, uint32_t rows) {
    uint8_t& known = core->engine.section.rows[dst];
    known = std::min(known, static_cast<uint8_t>(rows));
}

void require_rows(uint32_t dst, uint32_t cb) {
    const uint32_t known = core->engine.section.rows[dst], wanted = tile_rows(cb);
    if (known >= wanted) return;
    complain("dst-uninitialised", "packing to CB %u '%s' takes %u rows of DST tile %u, of which the first %u were computed",
             cb, cb_config(cb).name, wanted, dst, known);
}

}  // namespace vd
