// What circular buffers and DST hold where a run stops: a part of the report.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "circular_buffer.h"
#include "dump.h"
#include "kept.h"
#include "numerics.h"
#include "tile_shapes.h"

namespace vd {
namespace {

constexpr uint32_t kValues = 4;  // of a tile: the first of its first row

void put_values(Text& text, const Tile& tile, bool integers) {
    char shown[128];
    std::size_t used = 0;
    for (uint32_t i = 0; i < kValues; ++i) {
        int32_t word;
        std::memcpy(&word, &tile.at[0][0][i], sizeof word);
        const double number = integers ? static_cast<double>(word) : static_cast<double>(tile.at[0][0][i]);
        const int wrote = std::snprintf(shown + used, sizeof shown - used, "%s%g", i ? " " : "", number);
        if (wrote > 0) used += static_cast<std::size_t>(wrote);
    }
    text.field("values", shown);
}

// A debugger asks for all numbers, not for the first few.
bool whole() {
    static const bool asked = std::getenv("TILELANG_TT_STATE_WHOLE") != nullptr;
    return asked;
}

// All words of a tile by faces, each face row by row, eight hexadecimal digits each.
void put_words(Text& text, const Tile& tile) {
    constexpr char kDigits[] = "0123456789abcdef";
    static thread_local char shown[kTileElements * 8 + 1];
    static_assert(sizeof tile.at == kTileElements * sizeof(uint32_t));
    const auto* const words = reinterpret_cast<const uint8_t*>(&tile.at[0][0][0]);
    for (uint32_t i = 0; i < kTileElements; ++i) {
        uint32_t word;
        std::memcpy(&word, words + i * sizeof word, sizeof word);
        for (uint32_t digit = 0; digit < 8; ++digit) shown[i * 8 + digit] = kDigits[word >> (28 - 4 * digit) & 15];
    }
    shown[kTileElements * 8] = 0;
    text.write_out();
    text.quoted(shown);
}

// Rows, and what lies past the end, have no tile to show.
void put_page(Text& text, uint32_t cb, uint32_t page) {
    const CbConfig& config = core->group->cbs[cb];
    const uint32_t smallest = kTileElements / 2;  // bytes of a tile of 4-bit elements
    static thread_local Tile tile;
    if (page >= config.pages || config.page_bytes < smallest) return;
    const uint8_t* const bytes = core->l1 + page_offset(cb, page);
    const bool integers = is_integer(config.storage);
    unpack_page(config, bytes, Cut::None, tile);
    text.raw(",");
    put_values(text, tile, integers);
}

// Every page of a buffer of tiles, in the order in which they lie.
void put_pages(Text& text, uint32_t cb) {
    const CbConfig& config = core->group->cbs[cb];
    static thread_local Tile tile;
    if (config.page_bytes < kTileElements / 2) return;
    const bool integers = is_integer(config.storage);
    text.raw(integers ? ",\"integers\":1,\"whole\":[" : ",\"integers\":0,\"whole\":[");
    for (uint32_t page = 0; page < config.pages; ++page) {
        const uint8_t* const bytes = core->l1 + page_offset(cb, page);
        unpack_page(config, bytes, Cut::None, tile);
        if (page) text.raw(",");
        put_words(text, tile);
    }
    text.raw("]");
}

void put_buffer(Text& text, uint32_t cb) {
    const CbConfig& config = core->group->cbs[cb];
    const CbState& state = core->cbs[cb];
    text.raw("{");
    text.field("id", cb);
    text.raw(",");
    text.field("name", config.name);
    text.raw(",");
    text.field("format", format_name(config.declared));
    const struct {
        const char* name;
        uint64_t value;
    } counts[] = {{"pages", config.pages},     {"pushed", state.pushed},         {"popped", state.popped},
                  {"reserved", state.reserved}, {"waited", state.waited},         {"front", state.read_page},
                  {"back", state.write_page},   {"page_bytes", config.page_bytes}};
    for (const auto& count : counts) {
        text.raw(",");
        text.field(count.name, count.value);
    }
    text.raw(",");
    text.field("producer", state.producer == Role::Any ? "nobody" : role_name(state.producer));
    text.raw(",");
    text.field("consumer", state.consumer == Role::Any ? "nobody" : role_name(state.consumer));
    if (state.pushed != state.popped) put_page(text, cb, state.read_page);
    if (whole()) put_pages(text, cb);
    text.raw("}");
}

void put_dst(Text& text) {
    constexpr const char* kStates[] = {"zero", "written", "reduced", "first row"};
    const DstOwners& owners = core->engine.owners;
    const bool waits = (core->fibers[static_cast<uint32_t>(Role::Compute)].waiting & kPack) != 0;
    text.raw("\"dst\":{");
    text.field("math", owners.math ? "acquired" : "released");
    text.raw(",");
    text.field("pack", owners.pack ? "waited for" : waits ? "waits" : "released");
    text.raw(",");
    text.field("committed", owners.committed);
    text.raw(",\"tiles\":[");
    bool first = true;
    for (uint32_t index = 0; index < core->group->dst_tiles(); ++index) {
        const DstTile state = core->engine.section.tiles[index];
        if (state == DstTile::Zero || owners.free()) continue;
        text.raw(first ? "{" : ",{");
        first = false;
        text.field("index", index);
        text.raw(",");
        text.field("state", kStates[static_cast<uint32_t>(state)]);
        text.raw(",");
        put_values(text, core->engine.section.dst[index], false);
        if (whole()) {
            text.raw(",\"whole\":");
            put_words(text, core->engine.section.dst[index]);
        }
        text.raw("}");
    }
    text.raw("]}");
}

}  // namespace

void put_state(Text& text) {
    text.raw(",\"state\":{\"buffers\":[");
    bool first = true;
    for (const uint32_t cb : core->group->cb_ids) {
        if (!first) text.raw(",");
        first = false;
        put_buffer(text, cb);
    }
    text.raw("],");
    put_dst(text);
    text.raw("}");
}

}  // namespace vd
