// Vector-unit functions of two or three tiles. Columns as in sfpu_unary.cpp.
#include "gamma.h"
#include "sfpu.h"

namespace vd {
namespace {

bool close(float x, float y, const Scalars& s) {
    if (x != x || y != y) return s.u[2] != 0 && x != x && y != y;
    return x == y || std::fabs(x - y) <= s.f[1] + s.f[0] * std::fabs(y);
}
// A 32-bit condition is compared as bits: -0 is true.
bool chosen(float condition, DataFormat format) {
    const bool wide = format == DataFormat::Float32 || format == DataFormat::Int32 || format == DataFormat::UInt32;
    return wide ? bits_of(condition) != 0 : condition != 0.0f;
}

// The larger one carries the sum; infinities of the same sign have no difference.
float logaddexp(float a, float b) { return a == b ? a + 0.69314718f : std::fmax(a, b) + std::log1p(std::exp(-std::fabs(a - b))); }
float logaddexp2(float a, float b) { return a == b ? a + 1.0f : std::fmax(a, b) + std::log2(1.0f + std::exp2(-std::fabs(a - b))); }

// clang-format off
const FloatRow kBinaryRows[] = {
    {Sfpu::BinaryAdd, Sfpu::BinaryAdd, "add_binary_tile", 2, kCut, VD_FLOAT(a + b)},
    {Sfpu::BinarySub, Sfpu::BinarySub, "sub_binary_tile", 2, kCut, VD_FLOAT(a - b)},
    {Sfpu::BinaryMul, Sfpu::BinaryMul, "mul_binary_tile", 2, kEven, VD_FLOAT(a * b)},
    {Sfpu::BinaryDiv, Sfpu::BinaryDiv, "div_binary_tile", 2, kEven, VD_FLOAT(a / b)},
    {Sfpu::BinaryRsub, Sfpu::BinaryRsub, "rsub_binary_tile", 2, kCut, VD_FLOAT(b - a)},
    {Sfpu::BinaryPower, Sfpu::BinaryPower, "power_binary_tile", 2, kEven, VD_FLOAT(std::pow(a, b))},
    {Sfpu::BinaryMax, Sfpu::BinaryMax, "binary_max_tile", 2, kCut, VD_FLOAT(a > b ? a : b)},
    {Sfpu::BinaryMin, Sfpu::BinaryMin, "binary_min_tile", 2, kCut, VD_FLOAT(a < b ? a : b)},
    {Sfpu::BinaryEq, Sfpu::BinaryEq, "eq_binary_tile", 2, kCut, VD_FLOAT(truth(a == b))},
    {Sfpu::BinaryNe, Sfpu::BinaryNe, "ne_binary_tile", 2, kCut, VD_FLOAT(truth(a != b))},
    {Sfpu::BinaryLt, Sfpu::BinaryLt, "lt_binary_tile", 2, kCut, VD_FLOAT(truth(a < b))},
    {Sfpu::BinaryGt, Sfpu::BinaryGt, "gt_binary_tile", 2, kCut, VD_FLOAT(truth(a > b))},
    {Sfpu::BinaryLe, Sfpu::BinaryLe, "le_binary_tile", 2, kCut, VD_FLOAT(truth(a <= b))},
    {Sfpu::BinaryGe, Sfpu::BinaryGe, "ge_binary_tile", 2, kCut, VD_FLOAT(truth(a >= b))},
    {Sfpu::BinaryFmod, Sfpu::BinaryFmod, "fmod_binary_tile", 2, kEven, VD_FLOAT(std::fmod(a, b))},
    {Sfpu::BinaryRemainder, Sfpu::BinaryRemainder, "remainder_binary_tile", 2, kEven, VD_FLOAT(remainder(a, b))},
    {Sfpu::Atan2, Sfpu::Atan2, "atan2_binary_tile", 2, kEven, VD_FLOAT(std::atan2(a, b))},
    {Sfpu::Logaddexp, Sfpu::Logaddexp, "logaddexp_binary_tile", 2, kEven, VD_FLOAT(logaddexp(a, b))},
    {Sfpu::Logaddexp2, Sfpu::Logaddexp2, "logaddexp2_binary_tile", 2, kEven, VD_FLOAT(logaddexp2(a, b))},
    {Sfpu::Xlogy, Sfpu::Xlogy, "xlogy_binary_tile", 2, kCut, VD_FLOAT(a == 0.0f && b == b ? 0.0f : a * std::log(b))},
    {Sfpu::Isclose, Sfpu::Isclose, "isclose_binary_tile", 2, kCut, VD_FLOAT(truth(close(a, b, s)))},
    {Sfpu::Logsigmoid, Sfpu::Logsigmoid, "logsigmoid_tile", 2, kCut, VD_FLOAT(a < 0.0f ? a - std::log1p(std::exp(a)) : -std::log1p(b))},
    {Sfpu::Mask, Sfpu::Mask, "mask_tile", 2, kCut, VD_FLOAT(chosen(b, s.format) ? a : 0.0f)},
    {Sfpu::MaskPosinf, Sfpu::Mask, "mask_posinf_tile", 2, kCut, VD_FLOAT(b != 0.0f ? a : __builtin_inff())},
    {Sfpu::Where, Sfpu::Where, "where_tile", 3, Store::Bits, VD_FLOAT(chosen(a, s.format) ? b : c)},
    {Sfpu::Addcmul, Sfpu::Addcmul, "addcmul_tile", 3, kEven, VD_FLOAT(a + s.f[0] * b * c)},
    {Sfpu::Addcdiv, Sfpu::Addcdiv, "addcdiv_tile", 3, kEven, VD_FLOAT(a + s.f[0] * b / c)},
    {Sfpu::Lerp, Sfpu::Lerp, "lerp_tile", 3, kEven, VD_FLOAT(a + c * (b - a))},
    {Sfpu::Mac, Sfpu::Mac, "mac_tile", 3, kEven, VD_FLOAT(std::fma(a, b, c))},
    {Sfpu::SnakeBeta, Sfpu::SnakeBeta, "snake_beta_tile", 3, kEven, VD_FLOAT(a + std::sin(b * a) * std::sin(b * a) / c)},
    {Sfpu::LgammaLong, Sfpu::LgammaLong, "lgamma_stirling_float_tile", 2, kCut, VD_FLOAT(lgamma_long(a, b))},
    {Sfpu::LgammaReflected, Sfpu::LgammaReflected, "lgamma_adjusted_tile", 3, kEven, VD_FLOAT(lgamma_reflected(a, b, c, core->group->fp32_dest))},
    // The init says the zero point, and whether results are unsigned; integers are those of 32 bits.
    {Sfpu::Quant, Sfpu::Quant, "quant_tile", 2, Store::Bits, VD_FLOAT(float_of(to_8_bits(std::fma(a, b, s.init[0]), s.init[1] != 0.0f)))},
    {Sfpu::Requant, Sfpu::Requant, "requant_tile", 2, Store::Bits, VD_FLOAT(float_of(to_8_bits(std::fma(from_32_bits(a), b, s.init[0]), s.init[1] != 0.0f)))},
    {Sfpu::Dequant, Sfpu::Dequant, "dequant_tile", 2, Store::Bits, VD_FLOAT((from_32_bits(a) + s.init[0]) * b)},
};
// clang-format on

}  // namespace

const FloatRow* find_binary(Sfpu op) {
    for (const FloatRow& row : kBinaryRows) {
        if (row.op == op) return &row;
    }
    return nullptr;
}

}  // namespace vd
