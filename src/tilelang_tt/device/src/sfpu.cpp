// The vector unit: finds the row of a call, checks what it relies on, applies it to the elements it covers.
#include <algorithm>

#include "kept.h"
#include "sfpu.h"

#include "chip_library.h"
#include "numerics.h"

namespace vd {

void require_vector_unit(bool on_pack, const char* name) {
    if (!on_pack) return require_math(name);
    require_started(name);
    if (!core->engine.owners.pack) {
        breach("dst-protocol", "%s runs on the pack processor, before tile_regs_wait has handed DST to it", name);
    }
}

// Whose init loads no constants: it sets the address modes that the inits of all vector operations set alike.
static bool loads_nothing(Sfpu init) {
    switch (init) {
        case Sfpu::Abs:
        case Sfpu::BinaryAdd:
        case Sfpu::BinaryMul:
        case Sfpu::BinaryRsub:
        case Sfpu::BinarySub:
        case Sfpu::Negative:
        case Sfpu::Scalar:
        case Sfpu::Square: return true;
        default: return false;
    }
}

// The SDK has one init for these: `sfpu_binary_init` of ckernel_sfpu_binary.h does the same for each of them.
static bool is_plain_binary(Sfpu init) {
    return init == Sfpu::BinaryAdd || init == Sfpu::BinarySub || init == Sfpu::BinaryRsub || init == Sfpu::BinaryMul;
}

void require_sfpu_init(Sfpu wanted, const char* name) {
    const Sfpu last = core->engine.sfpu.op;
    if (last == wanted || (is_plain_binary(last) && is_plain_binary(wanted))) return;
    if (last != Sfpu::None && loads_nothing(wanted)) {
        return complain("init", "%s without its init: another vector operation was initialised last", name);
    }
    breach("init", "%s without its init%s", name,
           last == Sfpu::None ? "" : ": another vector operation was initialised last");
}

void finish_sfpu(uint32_t dst, Store how) {
    ++core->statistics.sfpu_tiles;
    core->engine.section.tiles[dst] = DstTile::Written;
    core->engine.section.unused[dst] = true;
    if (core->group->fp32_dest || device.exact || device.numberless) return;
    if (how == Store::Truncate) truncate_to_16bit_dst(core->engine.section.dst[dst]);
    if (how == Store::NearestEven) nearest_even_to_16bit_dst(core->engine.section.dst[dst]);
}

namespace {

// Elements of each face that a call covers, from the first on; an iteration is 32 of them.
struct Extent {
    uint32_t elements[4];
};

Extent extent_of(const SfpuCall& call, const char* name) {
    using ckernel::VectorMode;
    constexpr uint32_t kFaceElements = kFace * kFace;
    const uint32_t count = call.iterations * 32;
    const bool in_order = call.mode == VectorMode::None || call.mode == VectorMode::RC_custom;
    if (call.iterations % 2 != 0 || (!in_order && count > kFaceElements) || count > kTileElements) {
        undefined("%s with %u iterations", name, call.iterations);
    }
    switch (call.mode) {
        case VectorMode::RC: return {{count, count, count, count}};
        case VectorMode::R: return {{count, count, 0, 0}};
        case VectorMode::C: return {{count, 0, count, 0}};
        case VectorMode::None:
        case VectorMode::RC_custom: break;
        default: undefined("%s with vector mode %u", name, static_cast<uint32_t>(call.mode));
    }
    Extent extent{};
    for (uint32_t face = 0; face < 4; ++face) {
        const uint32_t done = face * kFaceElements;
        extent.elements[face] = count <= done ? 0 : count - done < kFaceElements ? count - done : kFaceElements;
    }
    return extent;
}

// Init and call must be of the same variant: it decides which constants are loaded.
void require_variant(const SfpuCall& call, const char* name) {
    const SfpuCall& init = core->engine.sfpu;
    if (init.fast != call.fast) {
        breach("init-mismatch", "%s<%s> after its init<%s>: both must be of the same variant", name,
               call.fast ? "true" : "false", init.fast ? "true" : "false");
    }
    if (call.op == Sfpu::Exp && call.fast && init.param[1] != call.param[1]) {
        breach("init-mismatch", "%s with other InputClamping than its init: it decides which instructions are loaded", name);
    }
    if (init.on_pack != call.on_pack) {
        breach("init-mismatch", "%s on the %s processor after its init on the other", name,
               call.on_pack ? "pack" : "math");
    }
}

DataFormat init_format() { return core->engine.sfpu.format; }

Scalars scalars_of(const SfpuCall& call) {
    Scalars s{};
    for (uint32_t i = 0; i < 3; ++i) {
        s.u[i] = call.param[i];
        s.f[i] = float_of(call.param[i]);
        s.init[i] = float_of(core->engine.sfpu.param[i]);
    }
    s.fast = call.fast;
    s.format = call.format;
    return s;
}

const float* operand(uint32_t dst, const char* name) { return &dst_rows(dst, name).at[0][0][0]; }


bool writes_only(Sfpu op) { return op == Sfpu::Fill || op == Sfpu::FillInt; }

// What is computed element by element from tiles that are right in their first row is right there alone.
UnwrittenPage partial_operand(const SfpuCall& call, uint32_t operands) {
    UnwrittenPage page{};
    for (uint32_t i = 0; i < operands && !writes_only(call.op); ++i) {
        if (const UnwrittenPage* row = first_row_alone(call.in[i])) page = *row;
    }
    return page;
}

// As many rows of the result count as of the operand with the fewest.
uint8_t fewest_rows(const SfpuCall& call, uint32_t operands) {
    const uint8_t(&rows)[16] = core->engine.section.rows;
    uint8_t fewest = 2 * kFace;
    for (uint32_t i = 0; i < operands && !writes_only(call.op); ++i) fewest = std::min(fewest, rows[call.in[i]]);
    return fewest;
}

// Whether an operand is the result of a reduction; then so is what is computed from it.
bool uses_reduction(const SfpuCall& call, uint32_t operands) {
    bool any = false;
    for (uint32_t i = 0; i < operands && !writes_only(call.op); ++i) {
        any = any || core->engine.section.reduced[call.in[i]];
    }
    return any;
}

void run_float(const SfpuCall& call, const FloatRow& row) {
    note::sfpu(call, row.name);
    require_vector_unit(call.on_pack, row.name);
    require_sfpu_init(row.init, row.name);
    if (core->engine.sfpu.op == row.init) require_variant(call, row.name);
    if (row.op >= Sfpu::Quant && row.op <= Sfpu::Dequant) require_wide_dst(call.format, row.name);
    const Scalars s = scalars_of(call);
    const Extent extent = extent_of(call, row.name);
    const chip::VectorFunction rule = device.bit_true ? chip::library->vector_function(call.op) : nullptr;
    const chip::Variant variant = rule ? chip::library->variant_of(call) : chip::Variant{};
    float* to = &dst_tile(call.out).at[0][0][0];
    const float* a = writes_only(row.op) ? to : operand(call.in[0], row.name);
    const float* b = row.operands > 1 ? operand(call.in[1], row.name) : a;
    const float* c = row.operands > 2 ? operand(call.in[2], row.name) : a;
    const UnwrittenPage partial = partial_operand(call, row.operands);
    const bool reduced = uses_reduction(call, row.operands);
    const uint8_t rows = fewest_rows(call, row.operands);
    for (uint32_t face = 0; face < 4 && !device.numberless; ++face) {
        const uint32_t first = face * kFace * kFace;
        if (rule != nullptr) {
            for (uint32_t i = first; i < first + extent.elements[face]; ++i) to[i] = rule(a[i], b[i], c[i], variant);
        } else {
            for (uint32_t i = first; i < first + extent.elements[face]; ++i) to[i] = row.apply(a[i], b[i], c[i], s);
        }
    }
    const bool rounds = row.store == Store::NearestEven ||
                        (row.operands == 2 && row.op <= Sfpu::BinaryRsub && call.param[0] == 1);
    const Store exactly = row.store == Store::Bits ? Store::Bits : Store::Truncate;
    finish_sfpu(call.out, rule != nullptr ? exactly : rounds ? Store::NearestEven : row.store);
    core->engine.last_dst = row.operands > 1 ? 0 : call.out;  // several operands are addressed from the first tile on
    core->engine.section.reduced[call.out] = reduced;
    core->engine.section.rows[call.out] = rows;
    if (partial.pushed_line != 0) mark_first_row(call.out, partial);
}

void run_integer(const SfpuCall& call, const IntRow& row) {
    note::sfpu(call, row.name);
    require_vector_unit(call.on_pack, row.name);
    require_sfpu_init(row.init, row.name);
    require_wide_dst(call.format, row.name);
    if (call.op == Sfpu::MulInt && (init_format() == DataFormat::UInt16) != (call.format == DataFormat::UInt16)) {
        breach("init-mismatch", "%s<%s> after its init<%s>: it loads other constants", row.name, format_name(call.format),
               format_name(init_format()));
    }
    if (call.format == DataFormat::UInt16 && core->group->fp32_dest) {
        vd_unimplemented("vector operations on UInt16 in a 32-bit DST", fiber->line);
    }
    const uint32_t mask = call.format == DataFormat::UInt16 ? 0xFFFFu : ~0u;
    const Scalars s = scalars_of(call);
    float* to = &dst_tile(call.out).at[0][0][0];
    const float* a = writes_only(row.op) ? to : operand(call.in[0], row.name);
    const float* b = row.operands > 1 ? operand(call.in[1], row.name) : a;
    const UnwrittenPage partial = partial_operand(call, row.operands);
    const bool reduced = uses_reduction(call, row.operands);
    const uint8_t rows = fewest_rows(call, row.operands);
    for (uint32_t i = 0; i < kTileElements && !device.numberless; ++i) {
        const uint32_t bits = row.apply(bits_of(a[i]), bits_of(b[i]), s) & mask;
        std::memcpy(to + i, &bits, sizeof bits);
    }
    finish_sfpu(call.out, Store::Bits);
    core->engine.section.reduced[call.out] = reduced;
    core->engine.section.rows[call.out] = rows;
    if (partial.pushed_line != 0) mark_first_row(call.out, partial);
}

void run(const SfpuCall& call) {
    const FloatRow* const unary = find_unary(call.op);
    const FloatRow* const floats = unary ? unary : find_binary(call.op);
    if (floats) return run_float(call, *floats);
    if (const IntRow* row = find_integer(call.op)) return run_integer(call, *row);
    breach("init", "vector operation %u is in no table", static_cast<uint32_t>(call.op));
}

}  // namespace
}  // namespace vd

using namespace vd;

extern "C" {

void vd_sfpu_init(const SfpuCall* call, uint32_t line) {
    KEEP_OR_BEGIN(call->on_pack ? kPack : kMath, [copy = *call, line] { vd_sfpu_init(&copy, line); });
    note::work(call->on_pack ? note::Processor::Pack : note::Processor::Math, "init", "sfpu");
    if (!call->on_pack) require_started("a vector operation's init");  // start-up leaves alone what pack's init sets
    core->engine.sfpu = *call;
}

void vd_sfpu(const SfpuCall* call, uint32_t line) {
    KEEP_OR_BEGIN(call->on_pack ? kPack : kMath, [copy = *call, line] { vd_sfpu(&copy, line); });
    if (call->on_pack) {
        const PackView view;
        return run(*call);
    }
    run(*call);
}

}  // extern "C"
