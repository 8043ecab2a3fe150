// Vector unit: one row per operation. Arithmetic is IEEE fp32; a row says how its result enters a 16-bit DST.
#include <cmath>
#include <cstring>

#include "numerics.h"

using namespace vd;

namespace {

enum class Store : uint8_t { Truncate, NearestEven };

struct Unary {
    Sfpu op;
    Sfpu init;  // the init that must come before
    const char* name;
    Store store;
    float (*apply)(float x, float scalar);
};

struct BinaryRow {
    Sfpu op;
    const char* name;
    Store store;
    float (*apply)(float a, float b);
};

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

constexpr Store kCut = Store::Truncate, kEven = Store::NearestEven;

const Unary kUnary[] = {
    {Sfpu::Abs, Sfpu::Abs, "abs_tile", kCut, [](float x, float) { return std::fabs(x); }},
    {Sfpu::Exp, Sfpu::Exp, "exp_tile", kEven, [](float x, float) { return std::exp(x); }},
    {Sfpu::Exp2, Sfpu::Exp2, "exp2_tile", kEven, [](float x, float) { return std::exp2(x); }},
    {Sfpu::Fill, Sfpu::Fill, "fill_tile", kCut, [](float, float s) { return s; }},
    {Sfpu::Gelu, Sfpu::Gelu, "gelu_tile", kEven,
     [](float x, float) { return 0.5f * x * (1.0f + std::erf(x * 0.70710678f)); }},
    {Sfpu::GeluTanh, Sfpu::GeluTanh, "gelu_tanh_tile", kEven,
     [](float x, float) { return 0.5f * x * (1.0f + std::tanh(0.79788456f * (x + 0.044715f * x * x * x))); }},
    {Sfpu::Log, Sfpu::Log, "log_tile", kEven, [](float x, float) { return std::log(x); }},
    {Sfpu::Negative, Sfpu::Negative, "negative_tile", kCut, [](float x, float) { return -x; }},
    {Sfpu::Recip, Sfpu::Recip, "recip_tile", kEven, [](float x, float) { return 1.0f / x; }},
    {Sfpu::Relu, Sfpu::Relu, "relu_tile", kCut, [](float x, float) { return x < 0.0f ? 0.0f : x; }},
    {Sfpu::Rsqrt, Sfpu::Rsqrt, "rsqrt_tile", kEven, [](float x, float) { return 1.0f / std::sqrt(x); }},
    {Sfpu::Sigmoid, Sfpu::Sigmoid, "sigmoid_tile", kEven, [](float x, float) { return sigmoid(x); }},
    {Sfpu::Silu, Sfpu::Silu, "silu_tile", kEven, [](float x, float) { return x * sigmoid(x); }},
    {Sfpu::Sqrt, Sfpu::Sqrt, "sqrt_tile", kEven, [](float x, float) { return std::sqrt(x); }},
    {Sfpu::Square, Sfpu::Square, "square_tile", kCut, [](float x, float) { return x * x; }},
    {Sfpu::Tanh, Sfpu::Tanh, "tanh_tile", kEven, [](float x, float) { return std::tanh(x); }},
    {Sfpu::UnaryMax, Sfpu::UnaryMax, "unary_max_tile", kCut, [](float x, float s) { return x > s ? x : s; }},
    {Sfpu::UnaryMin, Sfpu::UnaryMin, "unary_min_tile", kCut, [](float x, float s) { return x < s ? x : s; }},
    {Sfpu::AddScalar, Sfpu::Scalar, "add_unary_tile", kCut, [](float x, float s) { return x + s; }},
    {Sfpu::SubScalar, Sfpu::Scalar, "sub_unary_tile", kCut, [](float x, float s) { return x - s; }},
    {Sfpu::MulScalar, Sfpu::Scalar, "mul_unary_tile", kCut, [](float x, float s) { return x * s; }},
    {Sfpu::DivScalar, Sfpu::Scalar, "div_unary_tile", kCut, [](float x, float s) { return x * s; }},
    {Sfpu::RsubScalar, Sfpu::Scalar, "rsub_unary_tile", kEven, [](float x, float s) { return s - x; }},
};

const BinaryRow kBinary[] = {
    {Sfpu::BinaryAdd, "add_binary_tile", kCut, [](float a, float b) { return a + b; }},
    {Sfpu::BinarySub, "sub_binary_tile", kCut, [](float a, float b) { return a - b; }},
    {Sfpu::BinaryMul, "mul_binary_tile", kEven, [](float a, float b) { return a * b; }},
    {Sfpu::BinaryDiv, "div_binary_tile", kEven, [](float a, float b) { return a / b; }},
    {Sfpu::BinaryRsub, "rsub_binary_tile", kCut, [](float a, float b) { return b - a; }},
    {Sfpu::BinaryPower, "power_binary_tile", kEven, [](float a, float b) { return std::pow(a, b); }},
    {Sfpu::BinaryMax, "binary_max_tile", kCut, [](float a, float b) { return a > b ? a : b; }},
    {Sfpu::BinaryMin, "binary_min_tile", kCut, [](float a, float b) { return a < b ? a : b; }},
};

template <typename Row, std::size_t N>
const Row& row_of(const Row (&rows)[N], uint32_t op) {
    for (const Row& row : rows) {
        if (row.op == static_cast<Sfpu>(op)) return row;
    }
    breach("init", "vector operation %u is in no table", op);
}

void store_result(Tile& tile, Store how) {
    ++core->statistics.sfpu_tiles;
    if (core->group->fp32_dest || device.exact) return;
    if (how == Store::Truncate) {
        truncate_to_16bit_dst(tile);
    } else {
        nearest_even_to_16bit_dst(tile);
    }
}

void require_init(Sfpu wanted, const char* name) {
    const Sfpu last = core->engine.sfpu;
    if (last == wanted) return;
    breach("init", "%s without its init%s", name,
           last == Sfpu::None ? "" : ": another vector operation was initialised last");
}

}  // namespace

extern "C" {

void vd_sfpu_init(uint32_t op, uint32_t line) {
    enter(line);
    require_started("a vector operation's init");
    core->engine.sfpu = static_cast<Sfpu>(op);
}

void vd_sfpu_unary(uint32_t op, uint32_t dst, uint32_t bits, uint32_t line) {
    enter(line);
    const Unary& row = row_of(kUnary, op);
    require_math(row.name);
    require_init(row.init, row.name);
    Tile& tile = row.op == Sfpu::Fill ? dst_tile(dst) : written_dst_tile(dst, row.name);
    float scalar;
    std::memcpy(&scalar, &bits, sizeof scalar);
    float* at = &tile.at[0][0][0];
    for (uint32_t i = 0; i < kTileElements; ++i) at[i] = row.apply(at[i], scalar);
    store_result(tile, row.store);
    core->engine.tiles[dst] = DstTile::Written;
}

void vd_sfpu_binary(uint32_t op, uint32_t left, uint32_t right, uint32_t out, uint32_t line) {
    enter(line);
    const BinaryRow& row = row_of(kBinary, op);
    require_math(row.name);
    require_init(row.op, row.name);
    const float* a = &written_dst_tile(left, row.name).at[0][0][0];
    const float* b = &written_dst_tile(right, row.name).at[0][0][0];
    Tile& tile = dst_tile(out);
    float* to = &tile.at[0][0][0];
    for (uint32_t i = 0; i < kTileElements; ++i) to[i] = row.apply(a[i], b[i]);
    store_result(tile, row.store);
    core->engine.tiles[out] = DstTile::Written;
}

void vd_typecast(uint32_t from, uint32_t to, uint32_t dst, uint32_t line) {
    enter(line);
    require_math("typecast_tile");
    require_init(Sfpu::Typecast, "typecast_tile");
    Tile& tile = written_dst_tile(dst, "typecast_tile");
    const auto is_float = [](uint32_t format) {
        const DataFormat f = static_cast<DataFormat>(format);
        return f == DataFormat::Float32 || f == DataFormat::Float16_b || f == DataFormat::Bfp8_b ||
               f == DataFormat::Bfp4_b;
    };
    if (!is_float(from) || !is_float(to)) vd_unimplemented("typecast_tile between integer formats", line);
    ++core->statistics.sfpu_tiles;
    // Only the cast to bf16 rounds here; block formats are rounded by the packer.
    if (static_cast<DataFormat>(to) == DataFormat::Float16_b && !device.exact) nearest_even_to_16bit_dst(tile);
}

}  // extern "C"
