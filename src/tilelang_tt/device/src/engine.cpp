// The compute engine's configuration and the DST protocol: which call may follow which.
#include "machine.h"

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
    if (owners.pack_waits) return "waited for, and not committed";
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
    engine.section.packed = false;
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
    if (section.packed) return;
    for (uint32_t index = 0; index < core->group->dst_tiles(); ++index) {
        if (section.tiles[index] == DstTile::Zero) continue;
        complain("dst-unpacked", "%s, but nothing of what was computed since tile_regs_acquire has been packed", call);
    }
}

// A register is configured for the format in L1 and for the one that leaves the unpacker: 32 bits for DST, fewer for SrcA.
bool unpacks_alike(uint32_t cb, uint32_t other) {
    const CbConfig& left = cb_config(cb);
    const CbConfig& right = cb_config(other);
    return left.declared == right.declared && (left.to_dest == right.to_dest || !core->group->fp32_dest);
}

void require_source(const Source& source, uint32_t cb, const char* register_name, const char* reconfig,
                    const char* what) {
    const CbConfig& wanted = cb_config(cb);
    const CbConfig& configured = cb_config(source.cb);
    if (!unpacks_alike(source.cb, cb)) {
        breach("data-format",
               "%s reads CB %u '%s' (%s%s) through %s, which is configured for CB %u '%s' (%s%s): %s is missing", what, cb,
               wanted.name, format_name(wanted.declared), wanted.to_dest ? ", unpacked to DST" : "", register_name,
               source.cb, configured.name, format_name(configured.declared),
               configured.to_dest ? ", unpacked to DST" : "", reconfig);
    }
}

}  // namespace

const char* format_name(DataFormat format) {
    switch (format) {
        case DataFormat::Float32: return "Float32";
        case DataFormat::Float16: return "Float16";
        case DataFormat::Tf32: return "Tf32";
        case DataFormat::Float16_b: return "Float16_b";
        case DataFormat::Bfp8_b: return "Bfp8_b";
        case DataFormat::Bfp4_b: return "Bfp4_b";
        case DataFormat::Int32: return "Int32";
        case DataFormat::UInt16: return "UInt16";
        case DataFormat::UInt32: return "UInt32";
        case DataFormat::UInt8: return "UInt8";
        case DataFormat::Int8: return "Int8";
        default: return "Invalid";
    }
}

const char* family_name(Family family) {
    switch (family) {
        case Family::None: return "none";
        case Family::Copy: return "copy";
        case Family::Transpose: return "transpose";
        case Family::TransposeDest: return "transpose_dest";
        case Family::Matmul: return "matmul";
        case Family::MatmulBlock: return "matmul_block";
        case Family::Binary: return "eltwise binary";
        case Family::Reuse: return "eltwise binary with DST";
        case Family::UnaryBcast: return "unary broadcast";
        case Family::Reduce: return "reduce";
        case Family::BlockMax: return "reduce_block_max_row";
        case Family::Tilize: return "tilize";
        default: return "untilize";
    }
}

bool is_32bit_integer(DataFormat format) { return format == DataFormat::Int32 || format == DataFormat::UInt32; }

bool is_integer(DataFormat format) {
    return is_32bit_integer(format) || format == DataFormat::UInt16 || format == DataFormat::UInt8 ||
           format == DataFormat::Int8;
}

void begin_family(Family family, const char* init) {
    require_started(init);
    Engine& engine = core->engine;
    const bool keeps_unpacker = engine.family == Family::Tilize || engine.family == Family::Untilize;
    if (keeps_unpacker && family != engine.family) {
        breach("uninit", "%s while the unpacker is set up for %s: %s_uninit is missing", init,
               family_name(engine.family), family_name(engine.family));
    }
    engine.family = family;
    engine.only_unary_startup = false;
}

void require_family(Family wanted, const char* what, const char* init) {
    const Family family = core->engine.family;
    if (family == wanted) return;
    if (family == Family::None) breach("init", "%s without %s", what, init);
    breach("init", "%s after the init of another operation (%s): %s must be called again", what, family_name(family),
           init);
}

namespace {

// How a tile reaches DST. The instructions for it are chosen by the init, from the operand it names.
enum class Route : uint8_t { Source, Dst, Halves, Bytes };
constexpr const char* kRoutes[] = {"goes through a source register", "is unpacked to DST", "has 16-bit integers",
                                   "has 8-bit integers"};

Route route_of(uint32_t cb, Family family) {
    const CbConfig& config = cb_config(cb);
    const DataFormat format = config.declared;
    if (is_32bit_integer(format) || (config.to_dest && core->group->fp32_dest)) return Route::Dst;
    if (format == DataFormat::UInt8 || format == DataFormat::Int8) return Route::Bytes;
    const bool chosen = core->group->fp32_dest || family == Family::UnaryBcast;  // else they move like other 16-bit numbers
    return format == DataFormat::UInt16 && chosen ? Route::Halves : Route::Source;
}

}  // namespace

void require_same_route(uint32_t cb, const char* what, const char* init) {
    const Engine& engine = core->engine;
    const Route wanted = route_of(cb, engine.family), programmed = route_of(engine.init_cb, engine.family);
    if (wanted == programmed) return;
    breach("init-mismatch", "%s reads CB %u '%s', which %s, after %s for CB %u '%s', which %s: the init programs other "
           "instructions", what, cb, cb_config(cb).name, kRoutes[static_cast<uint32_t>(wanted)], init, engine.init_cb,
           cb_config(engine.init_cb).name, kRoutes[static_cast<uint32_t>(programmed)]);
}

void require_same_format(uint32_t cb, const char* what, const char* init) {
    const CbConfig& wanted = cb_config(cb);
    const CbConfig& programmed = cb_config(core->engine.init_cb);
    if (wanted.declared == programmed.declared && wanted.to_dest == programmed.to_dest) return;
    breach("init-mismatch", "%s reads CB %u '%s' (%s%s) after %s for CB %u '%s' (%s%s): the init programs sizes of elements",
           what, cb, wanted.name, format_name(wanted.declared), wanted.to_dest ? ", unpacked to DST" : "", init,
           core->engine.init_cb, programmed.name, format_name(programmed.declared),
           programmed.to_dest ? ", unpacked to DST" : "");
}

void require_source_operand(uint32_t cb, const char* what) {
    const CbConfig& config = cb_config(cb);
    if (config.to_dest) {
        breach("data-format", "%s reads CB %u '%s', which unpacks to DST: only copy_tile may read it", what, cb,
               config.name);
    }
    if (is_integer(config.storage)) {
        vd_unimplemented("integer operands of the matrix engine", fiber->line);
    }
}

void require_wide_dst(DataFormat format, const char* what) {
    if (!is_32bit_integer(format) || core->group->fp32_dest) return;
    breach("data-format", "%s of %s needs a 32-bit DST (fp32_dest_acc_en)", what, format_name(format));
}

void reset_engine() {
    Engine& engine = core->engine;
    engine.started = engine.reversed = engine.only_unary_startup = engine.l1_acc = engine.accumulate = false;
    engine.overwrite_calls = engine.sections = 0;
    engine.l1_acc_cb = kNeverSwitched;
    while (!engine.earlier.empty()) end_section();
    engine.owners = DstOwners{};
    engine.family = Family::None;
    engine.sfpu.op = Sfpu::None;
    engine.mask.on = engine.untilize.on = false;
    engine.relu = 0;
}

void check_engine_at_end() {
    const Engine& engine = core->engine;
    if (engine.owners.math || engine.owners.committed != 0) {
        breach("dst-protocol", "the kernel ends while DST is %s", math_state());
    }
    if (engine.owners.pack || engine.owners.pack_waits) {
        breach("dst-protocol", "the kernel ends while DST is %s",
               engine.owners.pack ? "waited for by the packer" : pack_state());
    }
    if (engine.l1_acc) {
        complain("l1-accumulate", "the kernel ends with packer L1 accumulation on (since line %u)", engine.l1_acc_line);
    }
}

void require_started(const char* what) {
    if (!core->engine.started) breach("startup", "%s before compute_kernel_hw_startup", what);
}

void require_math(const char* what) {
    require_started(what);
    if (!core->engine.owners.math) refuse_step(what, math_state(), "acquired");
}

void require_pack(const char* what) {
    require_started(what);
    const DstOwners& owners = core->engine.owners;
    if (owners.pack || owners.shared) return;
    if (owners.pack_waits) {
        breach("dst-protocol", "%s after tile_regs_wait, but before tile_regs_commit has handed DST to the packer; if the "
               "commit follows, write it before the packs: this device runs the processors in the order of the text", what);
    }
    breach("dst-protocol", "%s before tile_regs_wait has handed DST to the packer", what);
}

void require_free_dst(const char* what) {
    if (!core->engine.owners.free()) {
        breach("dst-protocol", "%s acquires and releases DST itself, but DST is in use", what);
    }
}

void mark_written(uint32_t dst) {
    core->engine.section.tiles[dst] = DstTile::Written;
    core->engine.section.reduced[dst] = false;
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
    if (core->engine.section.tiles[index] == DstTile::Zero) {
        breach("dst-uninitialised", "%s reads DST tile %u, which nothing has written since tile_regs_acquire", what,
               index);
    }
    if (const UnwrittenPage* page = first_row_alone(index)) refuse_unwritten(*page);
    return tile;
}

Tile& dst_rows(uint32_t index, const char* what) {
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

void require_srca(uint32_t cb, const char* what) {
    require_source(core->engine.srca, cb, "SrcA", "reconfig_data_format_srca", what);
}
void require_srcb(uint32_t cb, const char* what) {
    require_source(core->engine.srcb, cb, "SrcB", "reconfig_data_format_srcb", what);
}

void require_order(bool reversed, const char* what) {
    const Engine& engine = core->engine;
    if (!engine.srca.from_startup || !engine.srcb.from_startup || engine.reversed == reversed) return;
    if (engine.srca.cb == engine.srcb.cb) return;
    breach("source-order", "%s needs compute_kernel_hw_startup<SrcOrder::%s>: its first operand goes to %s", what,
           reversed ? "Reverse" : "Regular", reversed ? "SrcB" : "SrcA");
}

uint32_t Arguments::at(uint32_t index) const {
    for (const uint32_t address : l1_addresses) {
        if (address == index) return l1_address(values[index]);
    }
    return values[index];
}

}  // namespace vd

using namespace vd;

extern "C" {

uint32_t vd_arg(uint32_t index, uint32_t line) {
    enter(line);
    const auto& args = core->config->args[static_cast<uint32_t>(fiber->role)];
    if (index >= args.values.size()) {
        breach("arg-index", "runtime argument %u: this kernel has %zu", index, args.values.size());
    }
    return args.at(index);
}

uint32_t vd_common_arg(uint32_t index, uint32_t line) {
    enter(line);
    const auto& args = core->group->kernels[static_cast<uint32_t>(fiber->role)].common_args;
    if (index >= args.values.size()) {
        breach("arg-index", "common runtime argument %u: this kernel has %zu", index, args.values.size());
    }
    return args.at(index);
}

void vd_startup(uint32_t srca_cb, uint32_t srcb_cb, uint32_t out_cb, bool reversed, uint32_t line) {
    enter(line);
    Engine& engine = core->engine;
    // init_sfpu is a start-up of its own; what follows it before any operation takes its place.
    if (engine.started && !engine.only_unary_startup) {
        breach("startup", "compute_kernel_hw_startup is called twice");
    }
    engine.only_unary_startup = false;
    cb_config(srca_cb);
    cb_config(srcb_cb);
    cb_config(out_cb);
    engine.started = true;
    engine.reversed = reversed;
    engine.srca = {srca_cb, true};
    engine.srcb = {srcb_cb, true};
    engine.pack_cb = out_cb;
}

void vd_unary_startup(uint32_t icb, uint32_t ocb, uint32_t line) {
    enter(line);
    Engine& engine = core->engine;
    const bool first = !engine.started;
    if (first) vd_startup(icb, icb, ocb, false, line);
    vd_reconfig_srca(icb, line);
    vd_reconfig_pack(ocb, line);
    vd_copy_init(icb, false, false, line);
    engine.only_unary_startup = first;
}

void vd_reconfig_srca(uint32_t cb, uint32_t line) {
    enter(line);
    require_started("reconfig_data_format_srca");
    cb_config(cb);
    core->engine.srca = {cb, false};
}

void vd_reconfig_srcb(uint32_t cb, uint32_t line) {
    enter(line);
    require_started("reconfig_data_format_srcb");
    cb_config(cb);
    core->engine.srcb = {cb, false};
}

// Even when nothing changes, the kernel has said what the register is for: the order of the start-up no longer counts.
void vd_switch_srca(uint32_t before, uint32_t after, uint32_t line) {
    enter(line);
    require_started("a format reconfiguration");
    if (!unpacks_alike(before, after)) return vd_reconfig_srca(after, line);
    core->engine.srca.from_startup = false;
}

void vd_switch_srcb(uint32_t before, uint32_t after, uint32_t line) {
    enter(line);
    require_started("a format reconfiguration");
    if (!unpacks_alike(before, after)) return vd_reconfig_srcb(after, line);
    core->engine.srcb.from_startup = false;
}

void vd_reconfig_pack(uint32_t cb, uint32_t line) {
    enter(line);
    require_started("pack_reconfig_data_format");
    cb_config(cb);
    core->engine.pack_cb = cb;
}

bool vd_same_format(uint32_t cb, uint32_t other, uint32_t line) {
    enter(line);
    require_started("a format reconfiguration");
    return cb_config(cb).declared == cb_config(other).declared;
}

void vd_pack_l1_acc(uint32_t enable, uint32_t line) {
    enter(line);
    require_started("pack_reconfig_l1_acc");
    core->engine.l1_acc = enable != 0;
    core->engine.l1_acc_line = line;
    core->engine.l1_acc_cb = kNoneYet;
    if (enable == 0) ++core->engine.overwrite_calls;
}

void vd_regs_acquire(uint32_t line) {
    enter(line);
    require_started("tile_regs_acquire");
    if (core->engine.owners.math) refuse_step("tile_regs_acquire", math_state(), "released");
    begin_section();
    core->engine.owners.math = true;
}

void vd_regs_commit(uint32_t line) {
    enter(line);
    DstOwners& owners = core->engine.owners;
    if (!owners.math || owners.shared) refuse_step("tile_regs_commit", math_state(), "acquired");
    owners.math = false;
    owners.pack = owners.pack || owners.pack_waits;
    if (!owners.pack_waits) ++owners.committed;
    owners.pack_waits = false;
}

void vd_regs_wait(uint32_t line) {
    enter(line);
    require_started("tile_regs_wait");
    DstOwners& owners = core->engine.owners;
    if (owners.pack || owners.pack_waits || owners.shared) refuse_step("tile_regs_wait", pack_state(), "committed");
    owners.pack = owners.committed != 0;
    owners.pack_waits = !owners.pack;
    if (owners.pack) --owners.committed;
}

void vd_regs_release(uint32_t line) {
    enter(line);
    DstOwners& owners = core->engine.owners;
    if (!owners.pack) refuse_step("tile_regs_release", pack_state(), "waited for by the packer");
    require_packed("tile_regs_release");
    end_section();
    owners.pack = false;
}

void vd_dst_acquire(uint32_t line) {
    enter(line);
    require_started("acquire_dst");
    if (!core->engine.owners.free()) refuse_step("acquire_dst", math_state(), "released");
    begin_section();
    core->engine.owners.math = core->engine.owners.shared = true;
}

void vd_dst_release(uint32_t line) {
    enter(line);
    DstOwners& owners = core->engine.owners;
    if (!owners.shared) refuse_step("release_dst", math_state(), "acquired by acquire_dst");
    require_packed("release_dst");
    owners.math = owners.shared = false;
}

void vd_pack_relu(uint32_t mode, uint32_t threshold, uint32_t line) {
    enter(line);
    require_started("pack_relu_config");
    core->engine.relu = mode;
    core->engine.relu_threshold = threshold;
}

}  // extern "C"
