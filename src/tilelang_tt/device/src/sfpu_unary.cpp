// Vector-unit functions of one tile. Columns: operation, its init, name, operands, rounding into a 16-bit DST, meaning.
#include "gamma.h"
#include "sfpu.h"

namespace vd {
namespace {

constexpr float kInfinity = __builtin_inff();

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }
float gelu(float x) { return 0.5f * x * (1.0f + std::erf(x * 0.70710678f)); }
float gelu_tanh(float x) { return 0.5f * x * (1.0f + std::tanh(0.79788456f * (x + 0.044715f * x * x * x))); }
float gelu_derivative(float x) {
    return 0.5f * (1.0f + std::erf(x * 0.70710678f)) + x * 0.39894228f * std::exp(-0.5f * x * x);
}
float clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }
float sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f; }
float softplus(float x, float beta, float reciprocal, float threshold) {
    return beta * x > threshold ? x : std::log1p(std::exp(beta * x)) * reciprocal;
}
float round_decimals(float x, int decimals) {
    const double scale = std::pow(10.0, decimals);
    return static_cast<float>(std::nearbyint(static_cast<double>(x) * scale) / scale);
}
float divide_rounded(float numerator, float x, uint32_t rounding) {
    const float quotient = numerator / x;
    return rounding == 1 ? std::trunc(quotient) : rounding == 2 ? std::floor(quotient) : quotient;
}

float xielu(float x, float positive, float negative) {
    return 0.5f * x + (x > 0.0f ? positive * x * x : negative * (std::expm1(std::fmin(x, -1e-6f)) - x));
}

// Newton steps on the error function from Giles' approximation.
float erfinv(float x) {
    if (x <= -1.0f || x >= 1.0f) return x == 1.0f ? kInfinity : x == -1.0f ? -kInfinity : __builtin_nanf("");
    const double w = -std::log((1.0 - x) * (1.0 + x)), target = x;
    double y = std::copysign(std::sqrt(std::sqrt((4.33 + w * -0.5) * (4.33 + w * -0.5) + w * 6.8) - (4.33 + w * -0.5)), x);
    for (int step = 0; step < 4; ++step) y -= (std::erf(y) - target) / (1.1283791670955126 * std::exp(-y * y));
    return static_cast<float>(y);
}

// Power series; all terms have one sign.
float bessel(float x, int order) {
    const double quarter = 0.25 * static_cast<double>(x) * x;
    double term = order == 0 ? 1.0 : 0.5 * x, sum = term;
    for (int k = 1; k < 500 && std::fabs(term) > 1e-17 * std::fabs(sum); ++k) {
        term *= quarter / (static_cast<double>(k) * (k + order));
        sum += term;
    }
    return static_cast<float>(sum);
}

// clang-format off
const FloatRow kUnaryRows[] = {
    {Sfpu::Abs, Sfpu::Abs, "abs_tile", 1, kCut, VD_FLOAT(std::fabs(a))},
    {Sfpu::Acos, Sfpu::Acos, "acos_tile", 1, kEven, VD_FLOAT(std::acos(a))},
    {Sfpu::Acosh, Sfpu::Acosh, "acosh_tile", 1, kEven, VD_FLOAT(std::acosh(a))},
    {Sfpu::Asin, Sfpu::Asin, "asin_tile", 1, kEven, VD_FLOAT(std::asin(a))},
    {Sfpu::Asinh, Sfpu::Asinh, "asinh_tile", 1, kEven, VD_FLOAT(std::asinh(a))},
    {Sfpu::Atan, Sfpu::Atan, "atan_tile", 1, kEven, VD_FLOAT(std::atan(a))},
    {Sfpu::Atanh, Sfpu::Atanh, "atanh_tile", 1, kEven, VD_FLOAT(std::atanh(a))},
    {Sfpu::Cbrt, Sfpu::Cbrt, "cbrt_tile", 1, kEven, VD_FLOAT(std::cbrt(a))},
    {Sfpu::Celu, Sfpu::Celu, "celu_tile", 1, kEven, VD_FLOAT(a >= 0.0f ? a : s.f[0] * std::expm1(a * s.f[1]))},
    {Sfpu::Clamp, Sfpu::Clamp, "clamp_tile", 1, kCut, VD_FLOAT(clamp(a, s.f[0], s.f[1]))},
    {Sfpu::Cos, Sfpu::Cos, "cos_tile", 1, kEven, VD_FLOAT(std::cos(a))},
    {Sfpu::Cosh, Sfpu::Cosh, "cosh_tile", 1, kEven, VD_FLOAT(std::cosh(a))},
    {Sfpu::Elu, Sfpu::Elu, "elu_tile", 1, kEven, VD_FLOAT(a >= 0.0f ? a : s.f[0] * std::expm1(a))},
    {Sfpu::Erf, Sfpu::Erf, "erf_tile", 1, kEven, VD_FLOAT(std::erf(a))},
    {Sfpu::Erfc, Sfpu::Erfc, "erfc_tile", 1, kCut, VD_FLOAT(std::erfc(a))},
    {Sfpu::Erfinv, Sfpu::Erfinv, "erfinv_tile", 1, kCut, VD_FLOAT(erfinv(a))},
    {Sfpu::Exp, Sfpu::Exp, "exp_tile", 1, kEven, VD_FLOAT(std::exp(a * (s.fast ? s.init[0] : s.f[0])))},
    {Sfpu::Exp2, Sfpu::Exp2, "exp2_tile", 1, kEven, VD_FLOAT(std::exp2(a))},
    {Sfpu::Expm1, Sfpu::Expm1, "expm1_tile", 1, kEven, VD_FLOAT(std::expm1(a))},
    {Sfpu::Fill, Sfpu::Fill, "fill_tile", 1, kCut, VD_FLOAT(s.f[0])},
    {Sfpu::Fmod, Sfpu::Fmod, "fmod_tile", 1, kCut, VD_FLOAT(std::fmod(a, s.init[0]))},
    {Sfpu::Gelu, Sfpu::Gelu, "gelu_tile", 1, kEven, VD_FLOAT(gelu(a))},
    {Sfpu::GeluDerivative, Sfpu::GeluDerivative, "gelu_derivative_tile", 1, kEven, VD_FLOAT(gelu_derivative(a))},
    {Sfpu::GeluTanh, Sfpu::GeluTanh, "gelu_tanh_tile", 1, kEven, VD_FLOAT(gelu_tanh(a))},
    {Sfpu::Hardmish, Sfpu::Hardmish, "hardmish_tile", 1, kCut, VD_FLOAT(a * clamp(a * 0.5f + 1.0f, 0.0f, 1.0f))},
    {Sfpu::Hardshrink, Sfpu::Hardshrink, "hardshrink_tile", 1, kCut, VD_FLOAT(std::fabs(a) <= s.f[0] ? 0.0f : a)},
    {Sfpu::Hardsigmoid, Sfpu::Hardsigmoid, "hardsigmoid_tile", 1, kCut, VD_FLOAT(clamp(a * 0.16666667f + 0.5f, 0.0f, 1.0f))},
    {Sfpu::Hardtanh, Sfpu::Hardtanh, "hardtanh_tile", 1, kCut, VD_FLOAT(clamp(a, s.f[0], s.f[1]))},
    {Sfpu::Heaviside, Sfpu::Heaviside, "heaviside_tile", 1, kCut, VD_FLOAT(a < 0.0f ? 0.0f : a > 0.0f ? 1.0f : s.f[0])},
    {Sfpu::I0, Sfpu::I0, "i0_tile", 1, kCut, VD_FLOAT(bessel(a, 0))},
    {Sfpu::I1, Sfpu::I1, "i1_tile", 1, kEven, VD_FLOAT(bessel(a, 1))},
    {Sfpu::Identity, Sfpu::Identity, "identity_tile", 1, kCut, VD_FLOAT(a)},
    {Sfpu::Isfinite, Sfpu::Isfinite, "isfinite_tile", 1, kCut, VD_FLOAT(truth(std::isfinite(a)))},
    {Sfpu::Isinf, Sfpu::Isinf, "isinf_tile", 1, kCut, VD_FLOAT(truth(std::isinf(a)))},
    {Sfpu::Isnan, Sfpu::Isnan, "isnan_tile", 1, kCut, VD_FLOAT(truth(std::isnan(a)))},
    {Sfpu::Isneginf, Sfpu::Isneginf, "isneginf_tile", 1, kCut, VD_FLOAT(truth(a == -kInfinity))},
    {Sfpu::Isposinf, Sfpu::Isposinf, "isposinf_tile", 1, kCut, VD_FLOAT(truth(a == kInfinity))},
    {Sfpu::LeakyRelu, Sfpu::LeakyRelu, "leaky_relu_tile", 1, kCut, VD_FLOAT(a < 0.0f ? a * s.f[0] : a)},
    {Sfpu::Log, Sfpu::Log, "log_tile", 1, kEven, VD_FLOAT(std::log(a))},
    {Sfpu::Log1p, Sfpu::Log1p, "log1p_tile", 1, kEven, VD_FLOAT(std::log1p(a))},
    {Sfpu::LogWithBase, Sfpu::LogWithBase, "log_with_base_tile", 1, kEven, VD_FLOAT(std::log(a) * s.f[0])},
    {Sfpu::LogicalNot, Sfpu::LogicalNot, "logical_not_tile", 1, kCut, VD_FLOAT(truth(a == 0.0f))},
    {Sfpu::Mish, Sfpu::Mish, "mish_tile", 1, kEven, VD_FLOAT(a * std::tanh(std::log1p(std::exp(a))))},
    {Sfpu::Negative, Sfpu::Negative, "negative_tile", 1, kCut, VD_FLOAT(-a)},
    {Sfpu::Power, Sfpu::Power, "power_tile", 1, kEven, VD_FLOAT(std::pow(a, s.f[0]))},
    {Sfpu::PowerIterative, Sfpu::PowerIterative, "power_iterative_tile", 1, kCut, VD_FLOAT(std::pow(a, static_cast<float>(s.u[0])))},
    {Sfpu::Prelu, Sfpu::Prelu, "prelu_tile", 1, kCut, VD_FLOAT(a < 0.0f ? a * s.f[0] : a)},
    {Sfpu::Rdiv, Sfpu::Rdiv, "rdiv_tile", 1, kCut, VD_FLOAT(divide_rounded(s.f[0], a, s.u[1]))},
    {Sfpu::Recip, Sfpu::Recip, "recip_tile", 1, kEven, VD_FLOAT(1.0f / a)},
    {Sfpu::Relu, Sfpu::Relu, "relu_tile", 1, kCut, VD_FLOAT(a < 0.0f ? 0.0f : a)},
    {Sfpu::ReluMax, Sfpu::ReluMax, "relu_max_tile", 1, kCut, VD_FLOAT(clamp(a, 0.0f, s.f[0]))},
    {Sfpu::ReluMin, Sfpu::ReluMin, "relu_min_tile", 1, kCut, VD_FLOAT(a < s.f[0] ? 0.0f : a)},
    {Sfpu::Remainder, Sfpu::Remainder, "remainder_tile", 1, kCut, VD_FLOAT(remainder(a, s.init[0]))},
    {Sfpu::Rpow, Sfpu::Rpow, "rpow_tile", 1, kEven, VD_FLOAT(std::pow(s.f[0], a))},
    {Sfpu::Rsqrt, Sfpu::Rsqrt, "rsqrt_tile", 1, kEven, VD_FLOAT(1.0f / std::sqrt(a))},
    {Sfpu::Rsub, Sfpu::Rsub, "rsub_tile", 1, kEven, VD_FLOAT(s.f[0] - a)},
    {Sfpu::Selu, Sfpu::Selu, "selu_tile", 1, kEven, VD_FLOAT(a >= 0.0f ? s.f[0] * a : s.f[0] * s.f[1] * std::expm1(a))},
    {Sfpu::Sigmoid, Sfpu::Sigmoid, "sigmoid_tile", 1, kEven, VD_FLOAT(sigmoid(a))},
    {Sfpu::Sign, Sfpu::Sign, "sign_tile", 1, kCut, VD_FLOAT(sign(a))},
    {Sfpu::Signbit, Sfpu::Signbit, "signbit_tile", 1, kCut, VD_FLOAT(truth(std::signbit(a)))},
    {Sfpu::Silu, Sfpu::Silu, "silu_tile", 1, kEven, VD_FLOAT(a * sigmoid(a))},
    {Sfpu::Sin, Sfpu::Sin, "sin_tile", 1, kEven, VD_FLOAT(std::sin(a))},
    {Sfpu::Sinh, Sfpu::Sinh, "sinh_tile", 1, kEven, VD_FLOAT(std::sinh(a))},
    {Sfpu::Softcap, Sfpu::Softcap, "softcap_tile", 1, kEven, VD_FLOAT(s.f[0] * std::tanh(a * s.f[1]))},
    {Sfpu::Softplus, Sfpu::Softplus, "softplus_tile", 1, kEven, VD_FLOAT(softplus(a, s.f[0], s.f[1], s.f[2]))},
    {Sfpu::Softshrink, Sfpu::Softshrink, "softshrink_tile", 1, kCut, VD_FLOAT(a > s.f[0] ? a - s.f[0] : a < -s.f[0] ? a + s.f[0] : 0.0f)},
    {Sfpu::Softsign, Sfpu::Softsign, "softsign_tile", 1, kCut, VD_FLOAT(a / (1.0f + std::fabs(a)))},
    {Sfpu::Sqrt, Sfpu::Sqrt, "sqrt_tile", 1, kEven, VD_FLOAT(std::sqrt(a))},
    {Sfpu::Square, Sfpu::Square, "square_tile", 1, kCut, VD_FLOAT(a * a)},
    {Sfpu::Tan, Sfpu::Tan, "tan_tile", 1, kEven, VD_FLOAT(std::tan(a))},
    {Sfpu::Tanh, Sfpu::Tanh, "tanh_tile", 1, kEven, VD_FLOAT(std::tanh(a))},
    {Sfpu::TanhDerivative, Sfpu::TanhDerivative, "tanh_derivative_tile", 1, kEven, VD_FLOAT(1.0f - std::tanh(a) * std::tanh(a))},
    {Sfpu::Tanhshrink, Sfpu::Tanhshrink, "tanhshrink_tile", 1, kEven, VD_FLOAT(a - std::tanh(a))},
    {Sfpu::Threshold, Sfpu::Threshold, "threshold_tile", 1, kCut, VD_FLOAT(a <= s.f[0] ? s.f[1] : a)},
    {Sfpu::UnaryMax, Sfpu::UnaryMax, "unary_max_tile", 1, kCut, VD_FLOAT(a > s.f[0] ? a : s.f[0])},
    {Sfpu::UnaryMin, Sfpu::UnaryMin, "unary_min_tile", 1, kCut, VD_FLOAT(a < s.f[0] ? a : s.f[0])},
    {Sfpu::Xielu, Sfpu::Xielu, "xielu_tile", 1, kEven, VD_FLOAT(xielu(a, s.f[0], s.f[1]))},
    {Sfpu::Lgamma, Sfpu::Lgamma, "lgamma_stirling_tile", 1, kEven, VD_FLOAT(lgamma_short(a))},
    {Sfpu::Digamma, Sfpu::Digamma, "digamma_tile", 1, kCut, VD_FLOAT(digamma(a))},
    {Sfpu::Polygamma, Sfpu::Polygamma, "polygamma_tile", 1, kEven, VD_FLOAT(polygamma(a, s.f[0], s.f[1]))},
    // whole numbers
    {Sfpu::Ceil, Sfpu::Rounding, "ceil_tile", 1, kCut, VD_FLOAT(std::ceil(a))},
    {Sfpu::Floor, Sfpu::Rounding, "floor_tile", 1, kCut, VD_FLOAT(std::floor(a))},
    {Sfpu::Frac, Sfpu::Rounding, "frac_tile", 1, kCut, VD_FLOAT(a - std::trunc(a))},
    {Sfpu::Round, Sfpu::Rounding, "round_tile", 1, kCut, VD_FLOAT(round_decimals(a, static_cast<int>(s.u[0])))},
    {Sfpu::Trunc, Sfpu::Rounding, "trunc_tile", 1, kCut, VD_FLOAT(std::trunc(a))},
    // with a scalar
    {Sfpu::AddScalar, Sfpu::Scalar, "add_unary_tile", 1, kCut, VD_FLOAT(a + s.f[0])},
    {Sfpu::SubScalar, Sfpu::Scalar, "sub_unary_tile", 1, kCut, VD_FLOAT(a - s.f[0])},
    {Sfpu::MulScalar, Sfpu::Scalar, "mul_unary_tile", 1, kCut, VD_FLOAT(a * s.f[0])},
    {Sfpu::DivScalar, Sfpu::Scalar, "div_unary_tile", 1, kCut, VD_FLOAT(a * s.f[0])},  // the caller passes 1/scalar
    {Sfpu::RsubScalar, Sfpu::Scalar, "rsub_unary_tile", 1, kEven, VD_FLOAT(s.f[0] - a)},
    // comparisons
    {Sfpu::Eqz, Sfpu::Eqz, "eqz_tile", 1, kCut, VD_FLOAT(truth(a == 0.0f))},
    {Sfpu::Nez, Sfpu::Nez, "nez_tile", 1, kCut, VD_FLOAT(truth(a != 0.0f))},
    {Sfpu::Gtz, Sfpu::Gtz, "gtz_tile", 1, kCut, VD_FLOAT(truth(a > 0.0f))},
    {Sfpu::Gez, Sfpu::Gez, "gez_tile", 1, kCut, VD_FLOAT(truth(a >= 0.0f))},
    {Sfpu::Ltz, Sfpu::Ltz, "ltz_tile", 1, kCut, VD_FLOAT(truth(a < 0.0f))},
    {Sfpu::Lez, Sfpu::Lez, "lez_tile", 1, kCut, VD_FLOAT(truth(a <= 0.0f))},
    {Sfpu::UnaryEq, Sfpu::UnaryEq, "unary_eq_tile", 1, kCut, VD_FLOAT(truth(a == s.f[0]))},
    {Sfpu::UnaryNe, Sfpu::UnaryNe, "unary_ne_tile", 1, kCut, VD_FLOAT(truth(a != s.f[0]))},
    {Sfpu::UnaryGt, Sfpu::UnaryGt, "unary_gt_tile", 1, kCut, VD_FLOAT(truth(a > s.f[0]))},
    {Sfpu::UnaryGe, Sfpu::UnaryGe, "unary_ge_tile", 1, kCut, VD_FLOAT(truth(a >= s.f[0]))},
    {Sfpu::UnaryLt, Sfpu::UnaryLt, "unary_lt_tile", 1, kCut, VD_FLOAT(truth(a < s.f[0]))},
    {Sfpu::UnaryLe, Sfpu::UnaryLe, "unary_le_tile", 1, kCut, VD_FLOAT(truth(a <= s.f[0]))},
};
// clang-format on

}  // namespace

const FloatRow* find_unary(Sfpu op) {
    for (const FloatRow& row : kUnaryRows) {
        if (row.op == op) return &row;
    }
    return nullptr;
}

}  // namespace vd
