// The configuration of the compute engine: which call may follow which.
#include "circular_buffer.h"
#include "kept.h"

namespace vd {
namespace {

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
        case Family::MatmulNoMop: return "matmul_block_no_mop";
        case Family::Binary: return "eltwise binary";
        case Family::SubColumns: return "sub_tiles_bcast_cols_custom";
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
    engine.kept.clear();
    engine.l1_acc_cb = kNeverSwitched;
    reset_dst();
    engine.family = Family::None;
    engine.sfpu.op = Sfpu::None;
    engine.masked = engine.mask.on = engine.untilize.on = false;
    engine.relu = 0;
}

void check_engine_at_end() {
    const Engine& engine = core->engine;
    catch_up(kAll, "the end of the kernel");
    check_dst_at_end();
    if (engine.l1_acc) {
        complain("l1-accumulate", "the kernel ends with packer L1 accumulation on (since line %u)", engine.l1_acc_line);
    }
}

void require_started(const char* what) {
    if (!core->engine.started) breach("startup", "%s before compute_kernel_hw_startup", what);
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
    complain("source-order", "%s needs compute_kernel_hw_startup<SrcOrder::%s>: its first operand goes to %s", what,
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
    begin(line);
    note::argument();
    const auto& args = core->config->args[static_cast<uint32_t>(fiber->role)];
    if (index >= args.values.size()) {
        breach("arg-index", "runtime argument %u: this kernel has %zu", index, args.values.size());
    }
    return args.at(index);
}

uint32_t vd_common_arg(uint32_t index, uint32_t line) {
    begin(line);
    note::argument();
    const auto& args = core->group->kernels[static_cast<uint32_t>(fiber->role)].common_args;
    if (index >= args.values.size()) {
        breach("arg-index", "common runtime argument %u: this kernel has %zu", index, args.values.size());
    }
    return args.at(index);
}

void vd_startup(uint32_t srca_cb, uint32_t srcb_cb, uint32_t out_cb, bool reversed, uint32_t line) {
    enter(line);
    note::startup();
    Engine& engine = core->engine;
    // init_sfpu is a start-up of its own; what follows it before any operation takes its place.
    if (engine.started && !engine.only_unary_startup) {
        complain("startup", "compute_kernel_hw_startup is called twice");
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
    engine.pack_width = 1;
}

void vd_unary_startup(uint32_t icb, uint32_t ocb, uint32_t line) {
    begin(line);
    Engine& engine = core->engine;
    const bool first = !engine.started;
    if (first) vd_startup(icb, icb, ocb, false, line);
    vd_reconfig_srca(icb, line);
    vd_reconfig_pack(ocb, line);
    vd_copy_init(icb, false, false, line);
    engine.only_unary_startup = first;
}

void vd_reconfig_srca(uint32_t cb, uint32_t line) {
    KEEP_OR_BEGIN(kUnpack, [=] { vd_reconfig_srca(cb, line); });
    note::reconfigure();
    require_started("reconfig_data_format_srca");
    cb_config(cb);
    core->engine.srca = {cb, false};
}

void vd_reconfig_srcb(uint32_t cb, uint32_t line) {
    KEEP_OR_BEGIN(kUnpack, [=] { vd_reconfig_srcb(cb, line); });
    note::reconfigure();
    require_started("reconfig_data_format_srcb");
    cb_config(cb);
    core->engine.srcb = {cb, false};
}

// Even when nothing changes, the kernel has said what the register is for: the order of the start-up no longer counts.
void vd_switch_srca(uint32_t before, uint32_t after, uint32_t line) {
    KEEP_OR_BEGIN(kUnpack, [=] { vd_switch_srca(before, after, line); });
    require_started("a format reconfiguration");
    if (!unpacks_alike(before, after)) return vd_reconfig_srca(after, line);
    core->engine.srca.from_startup = false;
}

void vd_switch_srcb(uint32_t before, uint32_t after, uint32_t line) {
    KEEP_OR_BEGIN(kUnpack, [=] { vd_switch_srcb(before, after, line); });
    require_started("a format reconfiguration");
    if (!unpacks_alike(before, after)) return vd_reconfig_srcb(after, line);
    core->engine.srcb.from_startup = false;
}

void vd_reconfig_pack(uint32_t cb, uint32_t line) {
    KEEP_OR_BEGIN(kPack, [=] { vd_reconfig_pack(cb, line); });
    note::work(note::Processor::Pack, "reconfig");
    require_started("pack_reconfig_data_format");
    cb_config(cb);
    core->engine.pack_cb = cb;
}

bool vd_same_format(uint32_t cb, uint32_t other, uint32_t line) {
    begin(line);
    require_started("a format reconfiguration");
    return cb_config(cb).declared == cb_config(other).declared;
}

void vd_pack_l1_acc(uint32_t enable, uint32_t line) {
    KEEP_OR_BEGIN(kPack, [=] { vd_pack_l1_acc(enable, line); });
    note::work(note::Processor::Pack, "reconfig", "l1_acc");
    require_started("pack_reconfig_l1_acc");
    core->engine.l1_acc = enable != 0;
    core->engine.l1_acc_line = line;
    core->engine.l1_acc_cb = kNoneYet;
    if (enable == 0) ++core->engine.overwrite_calls;
}

void vd_pack_relu(uint32_t mode, uint32_t threshold, uint32_t line) {
    KEEP_OR_BEGIN(kPack, [=] { vd_pack_relu(mode, threshold, line); });
    note::work(note::Processor::Pack, "reconfig", "relu");
    require_started("pack_relu_config");
    core->engine.relu = mode;
    core->engine.relu_threshold = threshold;
}

}  // extern "C"
