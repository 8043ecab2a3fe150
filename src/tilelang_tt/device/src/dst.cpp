// DST and who owns it: the protocol of math and pack, its sections, and what is known of its tiles.
#include <limits>

#include "kept.h"

namespace vd {
namespace {

// How math finds DST, and how the packer does.
const char* math_state() {
    const DstOwners& owners = core->engine.owners;
    if (owners.math) return owners.shared ? "acquired by acquire_dst" : "acquired";
    return owners.pack ? "waited for by the packer" : owners.committed != 0 ? "committed" : "released";
}

const char* pack_state() {
    const DstOwners& owners = core->engine.owners;
    if (owners.pack) return "waited for already";
    if (owners.shared) return "acquired by acquire_dst";
    return owners.committed != 0 ? "committed, and not waited for" : owners.math ? "acquired" : "released";
}

[[noreturn]] void refuse_step(const char* call, const char* state, const char* wanted) {
    breach("dst-protocol", "%s while DST is %s; it must be %s", call, state, wanted);
}

// Math goes on in another part of DST while the packer still has one.
void set_section_aside() {
    Engine& engine = core->engine;
    engine.earlier.push_back(engine.section);
    if (engine.spare.empty()) engine.spare.push_back(new Tile[16]);
    engine.section.dst = engine.spare.back();
    engine.spare.pop_back();
}

void begin_section() {
    Engine& engine = core->engine;
    if (engine.owners.pack || engine.owners.committed != 0) set_section_aside();
    for (DstTile& tile : engine.section.tiles) tile = DstTile::Zero;
    for (bool& reduced : engine.section.reduced) reduced = false;
    for (bool& unused : engine.section.unused) unused = false;
    for (uint8_t& rows : engine.section.rows) rows = 2 * kFace;
    engine.section.packed = false;
    engine.section.added.clear();
    ++engine.sections;
}

void end_section() {
    Engine& engine = core->engine;
    if (engine.earlier.empty()) return;
    engine.spare.push_back(engine.earlier.front().dst);
    engine.earlier.erase(engine.earlier.begin());
}

// What was computed between acquire and release is gone after it.
void require_packed(const char* call) {
    const PackView view;
    const DstSection& section = core->engine.section;
    for (uint32_t index = 0; index < core->group->dst_tiles(); ++index) {
        if (!section.unused[index]) continue;
        ++core->engine.lossy_sections;
        break;
    }
    if (section.packed) return;
    for (uint32_t index = 0; index < core->group->dst_tiles(); ++index) {
        if (section.tiles[index] == DstTile::Zero) continue;
        complain("dst-unpacked", "%s, but nothing of what was computed since tile_regs_acquire has been packed", call);
    }
}

}  // namespace

void reset_dst() {
    while (!core->engine.earlier.empty()) end_section();
    core->engine.owners = DstOwners{};
}

void check_dst_at_end() {
    const Engine& engine = core->engine;
    if (engine.owners.math || engine.owners.committed != 0) {
        breach("dst-protocol", "the kernel ends while DST is %s", math_state());
    }
    if (engine.owners.pack) breach("dst-protocol", "the kernel ends while DST is waited for by the packer");
}

void require_math(const char* what) {
    require_started(what);
    if (!core->engine.owners.math) refuse_step(what, math_state(), "acquired");
}

void require_pack(const char* what) {
    require_started(what);
    const DstOwners& owners = core->engine.owners;
    if (owners.pack || owners.shared) return;
    breach("dst-protocol", "%s before tile_regs_wait has handed DST to the packer", what);
}

bool has_free_section(const Core& at) {
    const DstOwners& owners = at.engine.owners;
    return owners.committed + owners.pack < (at.group->full_sync ? 1u : 2u);
}

void require_free_dst(const char* what) {
    if (!core->engine.owners.free()) {
        breach("dst-protocol", "%s acquires and releases DST itself, but DST is in use", what);
    }
}

void mark_written(uint32_t dst) {
    core->engine.last_dst = dst;
    core->engine.section.tiles[dst] = DstTile::Written;
    core->engine.section.unused[dst] = true;
    core->engine.section.reduced[dst] = false;
    core->engine.section.rows[dst] = 2 * kFace;
}

Tile& dst_tile(uint32_t index) {
    const uint32_t tiles = core->group->dst_tiles();
    if (index >= tiles) {
        breach("dst-index", "DST tile %u: %u tiles are there (%s-sync, %u-bit)", index, tiles,
               core->group->full_sync ? "full" : "half", core->group->fp32_dest ? 32 : 16);
    }
    return core->engine.section.dst[index];
}

Tile& written_dst_tile(uint32_t index, const char* what) {
    Tile& tile = dst_tile(index);
    core->engine.section.unused[index] = false;
    if (core->engine.section.tiles[index] == DstTile::Zero) {
        complain("dst-uninitialised", "%s reads DST tile %u, which nothing has written since tile_regs_acquire", what,
                 index);
        float* const first = &tile.at[0][0][0];
        for (uint32_t i = 0; i < kTileElements; ++i) first[i] = std::numeric_limits<float>::quiet_NaN();  // a chip: old numbers
    }
    if (const UnwrittenPage* page = first_row_alone(index)) refuse_unwritten(*page);
    return tile;
}

Tile& dst_rows(uint32_t index, const char* what) {
    core->engine.section.unused[index] = false;
    return first_row_alone(index) ? dst_tile(index) : written_dst_tile(index, what);
}

const UnwrittenPage* first_row_alone(uint32_t index) {
    dst_tile(index);
    return core->engine.section.tiles[index] == DstTile::FirstRow ? &core->engine.section.first_rows[index] : nullptr;
}

void mark_first_row(uint32_t index, const UnwrittenPage& page) {
    core->engine.section.tiles[index] = DstTile::FirstRow;
    core->engine.section.first_rows[index] = page;
}

}  // namespace vd

using namespace vd;

extern "C" {

void vd_regs_acquire(uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_regs_acquire(line); });
    note::dst(note::Kind::Acquire);
    require_started("tile_regs_acquire");
    if (core->engine.owners.math) refuse_step("tile_regs_acquire", math_state(), "released");
    const auto acquire = [] {
        begin_section();
        core->engine.owners.math = true;
    };
    // Where the packer is only later in the text, its sections count no more than the order of the text does.
    const bool pack_stands = (fiber->waiting & kPack) != 0;
    if (pack_stands && !has_free_section(*core)) return keep(kMath, line, acquire, Need::Section);
    acquire();
}

void vd_regs_commit(uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_regs_commit(line); });
    note::dst(note::Kind::Commit);
    DstOwners& owners = core->engine.owners;
    if (!owners.math || owners.shared) refuse_step("tile_regs_commit", math_state(), "acquired");
    owners.math = false;
    ++owners.committed;
}

void vd_regs_wait(uint32_t line) {
    KEEP_OR_BEGIN(kPack, [=] { vd_regs_wait(line); });
    note::dst(note::Kind::PackWait);
    require_started("tile_regs_wait");
    DstOwners& owners = core->engine.owners;
    if (owners.shared) refuse_step("tile_regs_wait", pack_state(), "committed");
    if (owners.pack) {  // a wait takes nothing: the second one passes like the first
        complain("dst-protocol", "tile_regs_wait while DST is %s; it must be committed", pack_state());
        return;
    }
    const auto take = [] {
        core->engine.owners.pack = true;
        --core->engine.owners.committed;
    };
    if (owners.committed == 0) return keep(kPack, line, take, Need::Commit);
    take();
}

void vd_regs_release(uint32_t line) {
    KEEP_OR_BEGIN(kPack, [=] { vd_regs_release(line); });
    note::dst(note::Kind::Release);
    DstOwners& owners = core->engine.owners;
    if (!owners.pack) refuse_step("tile_regs_release", pack_state(), "waited for by the packer");
    require_packed("tile_regs_release");
    end_section();
    owners.pack = false;
}

void vd_dst_acquire(uint32_t line) {
    KEEP_OR_BEGIN(kAll, [=] { vd_dst_acquire(line); });
    note::dst(note::Kind::Acquire), note::dst(note::Kind::PackWait);
    require_started("acquire_dst");
    if (!core->engine.owners.free()) refuse_step("acquire_dst", math_state(), "released");
    begin_section();
    core->engine.owners.math = core->engine.owners.shared = true;
}

void vd_dst_release(uint32_t line) {
    KEEP_OR_BEGIN(kAll, [=] { vd_dst_release(line); });
    note::dst(note::Kind::Commit), note::dst(note::Kind::Release);
    DstOwners& owners = core->engine.owners;
    if (!owners.shared) refuse_step("release_dst", math_state(), "acquired by acquire_dst");
    require_packed("release_dst");
    owners.math = owners.shared = false;
}

}  // extern "C"
