// `chip` numerics of the vector unit: which function belongs to which operation.
#include "chip_vector.h"

#include <cmath>

#include "chip_vector_functions.h"
#include "sfpu.h"

namespace vd {
namespace chip {
namespace {

struct Row {
    Sfpu op;
    VectorFunction apply;
};

float truth(bool holds) { return holds ? 1.0f : 0.0f; }
// Comparisons with a number look at the sign and the bits of a difference: equal infinities differ by a NaN, and numbers
// that are less than the smallest normal number apart are equal.
bool is_positive(float difference) { return !is_negative(difference) && to_bits(difference) != 0; }
// Zero times anything is zero in a 16-bit DST, as in the matrix engine.
float product(float a, float b, const Variant& v) {
    return !v.wide && (to_bits(a) == 0 || to_bits(b) == 0) ? 0.0f : rounded_to_even(mul(a, b), v);
}

// a * (1 / b), in a 32-bit DST with one correction of the quotient. Only +0 counts as a zero.
float quotient(float a, float b, const Variant& v) {
    if (to_bits(b) == 0) return to_bits(a) == 0 ? from_bits(0x7FC00000u) : with_sign_of(from_bits(kInfinityBits), a);
    const float inverse = reciprocal_in_steps(b, 2), first = mul(a, inverse);
    if (!v.wide || exponent_field(first) == 255) return rounded_to_even(first, v);
    return mad(minus_product(a, first, b), inverse, first);
}

// Ties to even: adding 2^23 to a magnitude leaves no room for a fraction.
float nearest_whole(float a) {
    const float size = from_bits(to_bits(a) & 0x7FFFFFFFu);
    return exponent_field(a) < 127 + 23 ? with_sign_of(add(add(size, 8388608.0f), -8388608.0f), a) : a;
}
// Products of zero have no sign; Blackhole's compiler leaves out products with one.
float rounded_to_decimals(float a, const Variant& v) {
    const int32_t decimals = static_cast<int32_t>(to_bits(v.scalar[0]));
    if (device.chip.blackhole && decimals == 0) return nearest_whole(a);
    const float up = static_cast<float>(std::pow(10.0, decimals)), down = static_cast<float>(std::pow(10.0, -decimals));
    return mul(down, nearest_whole(mul(a, up)));
}

#define VD_CHIP(...)                                               \
    [](float a, float b, float c, const Variant& v) -> float {     \
        (void)a, (void)b, (void)c, (void)v;                        \
        return __VA_ARGS__;                                        \
    }

const Row kRows[] = {
    {Sfpu::Abs, VD_CHIP(flushed(magnitude(a)))},
    {Sfpu::Negative, VD_CHIP(flushed(-a))},
    {Sfpu::Relu, VD_CHIP(is_negative(a) && !(device.chip.blackhole && is_nan(a)) ? 0.0f : a)},
    {Sfpu::Sign, VD_CHIP(to_bits(a) == 0 ? 0.0f : is_negative(a) ? -1.0f : 1.0f)},
    {Sfpu::Square, VD_CHIP(mul(a, a))},
    {Sfpu::AddScalar, VD_CHIP(add(a, v.scalar[0]))},
    {Sfpu::SubScalar, VD_CHIP(add(a, -v.scalar[0]))},
    {Sfpu::MulScalar, VD_CHIP(mul(a, v.scalar[0]))},
    {Sfpu::DivScalar, VD_CHIP(mul(a, v.scalar[0]))},
    {Sfpu::RsubScalar, VD_CHIP(rounded_to_even(sub(v.scalar[0], a), v))},
    {Sfpu::BinaryAdd, VD_CHIP(add(a, b))},
    {Sfpu::BinarySub, VD_CHIP(sub(a, b))},
    {Sfpu::BinaryRsub, VD_CHIP(sub(b, a))},
    {Sfpu::BinaryMul, VD_CHIP(product(a, b, v))},
    {Sfpu::BinaryDiv, VD_CHIP(quotient(a, b, v))},
    {Sfpu::BinaryPower, VD_CHIP(power(a, b, v))},
    {Sfpu::BinaryFmod, VD_CHIP(rest_of_division(a, b, v))},
    {Sfpu::BinaryRemainder, VD_CHIP(floored_rest(a, b, v))},
    {Sfpu::BinaryMax, VD_CHIP(larger_of(flushed(a), flushed(b)))},
    {Sfpu::BinaryMin, VD_CHIP(smaller_of(flushed(a), flushed(b)))},
    {Sfpu::BinaryEq, VD_CHIP(truth(flushed(a) == flushed(b)))},
    {Sfpu::BinaryNe, VD_CHIP(truth(flushed(a) != flushed(b)))},
    {Sfpu::BinaryLt, VD_CHIP(truth(flushed(a) < flushed(b)))},
    {Sfpu::BinaryGt, VD_CHIP(truth(flushed(a) > flushed(b)))},
    {Sfpu::BinaryLe, VD_CHIP(truth(flushed(a) <= flushed(b)))},
    {Sfpu::BinaryGe, VD_CHIP(truth(flushed(a) >= flushed(b)))},
    {Sfpu::UnaryEq, VD_CHIP(truth(to_bits(sub(a, v.scalar[0])) == 0))},
    {Sfpu::UnaryNe, VD_CHIP(truth(to_bits(sub(a, v.scalar[0])) != 0))},
    {Sfpu::UnaryLt, VD_CHIP(truth(is_negative(sub(a, v.scalar[0]))))},
    {Sfpu::UnaryGe, VD_CHIP(truth(!is_negative(sub(a, v.scalar[0]))))},
    {Sfpu::UnaryGt, VD_CHIP(truth(is_positive(sub(a, v.scalar[0]))))},
    {Sfpu::UnaryLe, VD_CHIP(truth(!is_positive(sub(a, v.scalar[0]))))},
    {Sfpu::Acos, VD_CHIP(arccosine(a, v))},
    {Sfpu::Acosh, VD_CHIP(inverse_hyperbolic_cosine(a, v))},
    {Sfpu::Asin, VD_CHIP(arcsine(a, v))},
    {Sfpu::Asinh, VD_CHIP(inverse_hyperbolic_sine(a, v))},
    {Sfpu::Atan, VD_CHIP(arctangent(a, v))},
    {Sfpu::Atan2, VD_CHIP(arctangent_of_quotient(a, b, v))},
    {Sfpu::Atanh, VD_CHIP(inverse_hyperbolic_tangent(a, v))},
    {Sfpu::Cos, VD_CHIP(cosine(a, v))},
    {Sfpu::Addcdiv, VD_CHIP(rounded_to_even(mad(mul(b, v.scalar[0]), reciprocal_in_steps(c, 2), a), v))},
    {Sfpu::Addcmul, VD_CHIP(rounded(mad(mul(b, v.scalar[0]), c, a), v))},
    {Sfpu::Cbrt, VD_CHIP(cube_root(a, v))},
    {Sfpu::Celu, VD_CHIP(exponential_linear(a, v.scalar[0], mul(a, v.scalar[1]), a, v))},
    {Sfpu::Cosh, VD_CHIP(hyperbolic_cosine(a, v))},
    {Sfpu::Digamma, VD_CHIP(digamma_function(a))},
    {Sfpu::Elu, VD_CHIP(exponential_linear(a, v.scalar[0], a, a, v))},
    {Sfpu::Erf, VD_CHIP(error_function(a, v))},
    {Sfpu::Erfc, VD_CHIP(error_function_complement(a))},
    {Sfpu::Erfinv, VD_CHIP(inverse_error_function(a))},
    {Sfpu::Exp, VD_CHIP(exponential(a, v))},
    {Sfpu::Exp2, VD_CHIP(exponential2(a, v))},
    {Sfpu::Expm1, VD_CHIP(exponential_minus_one(a, v))},
    {Sfpu::Gelu, VD_CHIP(gelu(a, v))},
    {Sfpu::Fmod, VD_CHIP(rest_of_scalar(a, v))},
    {Sfpu::GeluDerivative, VD_CHIP(gelu_derivative(a, v))},
    {Sfpu::GeluTanh, VD_CHIP(gelu_by_tangent(a, v))},
    {Sfpu::I0, VD_CHIP(bessel0(a))},
    {Sfpu::I1, VD_CHIP(bessel1(a))},
    {Sfpu::Lerp, VD_CHIP(rounded_to_even(mad(c, sub(b, a), a), v))},
    {Sfpu::Lgamma, VD_CHIP(log_of_gamma(a, v))},
    {Sfpu::LgammaLong, VD_CHIP(log_of_gamma_with(a, b))},
    {Sfpu::LgammaReflected, VD_CHIP(reflected_log_of_gamma(a, b, c, v))},
    {Sfpu::Log, VD_CHIP(logarithm(a, v))},
    {Sfpu::Log1p, VD_CHIP(logarithm_plus_one(a, v))},
    {Sfpu::LogWithBase, VD_CHIP(scaled_logarithm(a, v))},
    {Sfpu::Logsigmoid, VD_CHIP(log_of_sigmoid(a, b))},
    {Sfpu::Mish, VD_CHIP(mish(a, v))},
    {Sfpu::Polygamma, VD_CHIP(polygamma_function(a, v))},
    {Sfpu::Power, VD_CHIP(power_of_tile(a, v))},
    {Sfpu::Rdiv, VD_CHIP(divided_scalar(a, v))},
    {Sfpu::Recip, VD_CHIP(reciprocal(a, v))},
    {Sfpu::Remainder, VD_CHIP(floored_rest_of_scalar(a, v))},
    {Sfpu::Round, VD_CHIP(rounded_to_decimals(a, v))},
    {Sfpu::Rpow, VD_CHIP(power(v.scalar[0], a, v))},
    {Sfpu::Rsqrt, VD_CHIP(reciprocal_root(a, v))},
    {Sfpu::Rsub, VD_CHIP(rounded_to_even(sub(v.scalar[0], a), v))},
    {Sfpu::Selu, VD_CHIP(exponential_linear(a, v.scalar[0] * v.scalar[1], a, mul(a, v.scalar[0]), v))},
    {Sfpu::Sigmoid, VD_CHIP(sigmoid(a, v))},
    {Sfpu::Silu, VD_CHIP(silu(a, v))},
    {Sfpu::Sin, VD_CHIP(sine(a, v))},
    {Sfpu::Sinh, VD_CHIP(hyperbolic_sine(a, v))},
    {Sfpu::SnakeBeta, VD_CHIP(snake(a, b, c, v))},
    {Sfpu::Softcap, VD_CHIP(softcap(a, v))},
    {Sfpu::Softplus, VD_CHIP(softplus(a, v))},
    {Sfpu::Softsign, VD_CHIP(mul(a, reciprocal_in_steps(add(magnitude(a), 1.0f), 2)))},
    {Sfpu::Sqrt, VD_CHIP(square_root(a, v))},
    {Sfpu::Tan, VD_CHIP(tangent(a, v))},
    {Sfpu::Tanh, VD_CHIP(hyperbolic_tangent(a, v))},
    {Sfpu::TanhDerivative, VD_CHIP(tangent_derivative(a, v))},
    {Sfpu::Tanhshrink, VD_CHIP(tangent_shrink(a, v))},
    {Sfpu::Xielu, VD_CHIP(xielu(a, v))},
    {Sfpu::Xlogy, VD_CHIP(times_logarithm(a, b, v))},
    {Sfpu::Quant, VD_CHIP(from_bits(to_8_bits(mad(a, b, v.scalar[0]), v.scalar[1] != 0.0f)))},
    {Sfpu::Requant, VD_CHIP(from_bits(to_8_bits(mad(from_32_bits(a), b, v.scalar[0]), v.scalar[1] != 0.0f)))},
    {Sfpu::Dequant, VD_CHIP(mul(add(from_32_bits(a), v.scalar[0]), b))},
};

}  // namespace

VectorFunction vector_function(Sfpu op) {
    for (const Row& row : kRows) {
        if (row.op == op) return row.apply;
    }
    return nullptr;
}

Variant variant_of(const SfpuCall& call) {
    // Roots and reciprocals carry the legacy form in `fast` and their own approximate form in the first parameter.
    const bool roots = call.op == Sfpu::Recip || call.op == Sfpu::Rsqrt || call.op == Sfpu::Sqrt;
    const bool quantises = call.op == Sfpu::Quant || call.op == Sfpu::Requant || call.op == Sfpu::Dequant;
    const bool rests = call.op == Sfpu::Fmod || call.op == Sfpu::Remainder;
    const bool by_init = (call.op == Sfpu::Exp && call.fast) || rests || quantises;
    const uint32_t* scalars = (by_init ? core->engine.sfpu : call).param;
    return {roots ? call.param[0] != 0 : call.fast,
            roots && call.fast,
            core->group->math_approx,
            core->group->fp32_dest,
            {from_bits(scalars[0]), from_bits(scalars[1]), from_bits(scalars[2])}};
}

}  // namespace chip
}  // namespace vd
