// typecast_tile: one number format to another inside DST. One row per kind of conversion.
#include <cmath>

#include "kept.h"
#include "numerics.h"
#include "sfpu.h"

using namespace vd;

namespace {

bool is_float(DataFormat format) {
    return format == DataFormat::Float32 || format == DataFormat::Float16_b || format == DataFormat::Bfp8_b ||
           format == DataFormat::Bfp4_b;
}

// Truncation; what does not fit is the most negative number.
uint32_t float_to_int32(float x) {
    if (!(x > -2147483904.0f && x < 2147483648.0f)) return 0x80000000u;
    return static_cast<uint32_t>(static_cast<int32_t>(static_cast<int64_t>(x)));
}
// NaN counts by its sign, as a number beyond the range.
float ordered(float x) { return x == x ? x : std::signbit(x) ? -__builtin_inff() : __builtin_inff(); }
uint32_t float_to_uint32(float x) {
    x = ordered(x);
    return x <= 0.0f ? 0u : x >= 4294967296.0f ? 0xFFFFFFFFu : static_cast<uint32_t>(static_cast<uint64_t>(x));
}
// Half away from zero.
uint32_t float_to_uint16(float x) {
    x = ordered(x);
    return x <= 0.0f ? 0u : x >= 65535.0f ? 0xFFFFu : static_cast<uint32_t>(static_cast<double>(x) + 0.5);
}
float int32_to_float(uint32_t bits) { return static_cast<float>(static_cast<int32_t>(bits)); }
// The low 31 bits first, then 2^31: rounded twice.
float uint32_to_float(uint32_t bits) {
    const float low = static_cast<float>(bits & 0x7FFFFFFFu);
    return bits >> 31 ? low + 2147483648.0f : low;
}
uint32_t to_uint16(uint32_t bits, DataFormat from) {
    if (from == DataFormat::Int32 && static_cast<int32_t>(bits) < 0) return 0;
    return bits > 0xFFFFu ? 0xFFFFu : bits;
}

uint32_t convert(uint32_t bits, DataFormat from, DataFormat to) {
    if (is_float(from)) {
        const float x = float_of(bits);
        if (to == DataFormat::Int32) return float_to_int32(x);
        return to == DataFormat::UInt32 ? float_to_uint32(x) : float_to_uint16(x);
    }
    if (is_float(to)) return bits_of(from == DataFormat::UInt32 ? uint32_to_float(bits) : int32_to_float(bits));
    return to == DataFormat::UInt16 ? to_uint16(bits, from) : bits;
}

// To even, done on the bits: a NaN rounds like a number. What has no exponent then is stored as zero.
uint32_t nearest_even_bf16(uint32_t bits) {
    const uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) & 0xFFFF0000u;
    return rounded & 0x7F800000u ? rounded : rounded & 0x80000000u;
}

bool is_known(DataFormat format) {
    return is_float(format) || is_32bit_integer(format) || format == DataFormat::UInt16;
}

}  // namespace

extern "C" {

void vd_typecast(uint32_t from_number, uint32_t to_number, uint32_t dst, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_typecast(from_number, to_number, dst, line); });
    note::work(note::Processor::Math, "sfpu", "typecast_tile");
    const DataFormat from = static_cast<DataFormat>(from_number), to = static_cast<DataFormat>(to_number);
    Engine& engine = core->engine;
    require_math("typecast_tile");
    require_sfpu_init(Sfpu::Typecast, "typecast_tile");
    if (engine.sfpu.param[0] != from_number || engine.sfpu.param[1] != to_number) {
        breach("init-mismatch", "typecast_tile<%u, %u> after typecast_tile_init<%u, %u>", from_number, to_number,
               engine.sfpu.param[0], engine.sfpu.param[1]);
    }
    if (!is_known(from) || !is_known(to)) vd_unimplemented("typecast_tile of this pair of formats", line);
    require_wide_dst(from, "typecast_tile");
    require_wide_dst(to, "typecast_tile");
    if (from == DataFormat::Float32 && !core->group->fp32_dest && is_float(to)) {
        breach("data-format", "typecast_tile from Float32 needs a 32-bit DST (fp32_dest_acc_en)");  // zeros on the chip
    }
    Tile& tile = written_dst_tile(dst, "typecast_tile");
    const auto each = [&](auto change) {
        if (device.numberless) return;
        float* at = &tile.at[0][0][0];
        for (uint32_t i = 0; i < kTileElements; ++i) {
            const uint32_t bits = change(bits_of(at[i]));
            std::memcpy(at + i, &bits, sizeof bits);
        }
    };
    if (!is_float(from) || !is_float(to)) {
        // 16-bit integers lie in the upper half of a 32-bit DST until they are cast.
        const uint32_t shift = from == DataFormat::UInt16 && core->group->fp32_dest ? 16 : 0;
        each([&](uint32_t bits) { return convert(bits >> shift, from, to); });
    }
    finish_sfpu(dst, Store::Bits);
    if (!is_float(to) || device.exact) return;
    // Integers round half away into bf16, floats to even; block formats are rounded by the packer.
    const bool narrow = to == DataFormat::Float16_b || !core->group->fp32_dest;
    if (narrow && !is_float(from)) round_to_16bit_dst(tile);
    if (to == DataFormat::Float16_b && is_float(from)) each(nearest_even_bf16);
}

}  // extern "C"
