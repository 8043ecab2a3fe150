// Functions of the vector unit in `chip` numerics, one per operation.
#pragma once

#include "chip_vector.h"

namespace vd {
namespace chip {

float exponential(float unscaled, const Variant& v);  // times the first scalar
float exponential2(float x, const Variant& v);
float exponential_minus_one(float x, const Variant& v);
float sigmoid(float x, const Variant& v);
float silu(float x, const Variant& v);
float hyperbolic_tangent(float x, const Variant& v);
float hyperbolic_sine(float x, const Variant& v);
float hyperbolic_cosine(float x, const Variant& v);
float inverse_hyperbolic_sine(float x, const Variant& v);
float inverse_hyperbolic_cosine(float x, const Variant& v);
float inverse_hyperbolic_tangent(float x, const Variant& v);

float square_root(float x, const Variant& v);
float reciprocal_root(float x, const Variant& v);
float reciprocal(float x, const Variant& v);
float cube_root(float x, const Variant& v);
float power(float base, float exponent, const Variant& v);
float power_of_tile(float base, const Variant& v);  // the exponent is a scalar
float logarithm(float x, const Variant& v);
float scaled_logarithm(float x, const Variant& v);
float times_logarithm(float a, float b, const Variant& v);  // a * log(b)
float logarithm_plus_one(float x, const Variant& v);
float gelu(float x, const Variant& v);
float gelu_derivative(float x, const Variant& v);
float gelu_by_tangent(float x, const Variant& v);
float softcap(float x, const Variant& v);
float mish(float x, const Variant& v);
float tangent_shrink(float x, const Variant& v);
float tangent_derivative(float x, const Variant& v);
float log_of_sigmoid(float x, float exp_of_minus_x);
float xielu(float x, const Variant& v);
float snake(float x, float a, float b, const Variant& v);
float error_function(float x, const Variant& v);
float error_function_complement(float x);
float inverse_error_function(float x);
float bessel0(float x);
float bessel1(float x);
float softplus(float x, const Variant& v);
// `above` where x >= 0, otherwise scale * (exp(power) - 1).
float exponential_linear(float x, float scale, float power, float above, const Variant& v);
float sine(float x, const Variant& v);
float cosine(float x, const Variant& v);
float tangent(float x, const Variant& v);
float arcsine(float x, const Variant& v);
float arccosine(float x, const Variant& v);
float arctangent(float x, const Variant& v);
float arctangent_of_quotient(float y, float x, const Variant& v);
float divided_scalar(float x, const Variant& v);
float rest_of_division(float a, float b, const Variant& v);
float floored_rest(float a, float b, const Variant& v);  // with the sign of b
float log_of_gamma(float x, const Variant& v);
float log_of_gamma_with(float x, float log_of_z);
float reflected_log_of_gamma(float series, float log_of_sine, float x, const Variant& v);
float digamma_function(float x);
float polygamma_function(float x, const Variant& v);
// By a scalar, whose reciprocal is the second one.
float rest_of_scalar(float x, const Variant& v);
float floored_rest_of_scalar(float x, const Variant& v);

// 1 / x as other functions use it: a first guess and `steps` refinements.
float reciprocal_in_steps(float x, int32_t steps);
float table_reciprocal(float x);  // the guess of Blackhole
// The same for x > 0, with refinements that follow from the width of DST.
float positive_reciprocal(float x, const Variant& v);
float legacy_root(float x);
float short_logarithm(float x);  // for 16 bits, not rounded yet
float log_of_one_plus(float x, const Variant& v);  // not rounded yet
float accurate_exponential(float x);
float short_exponential(float x, const Variant& v);  // as other functions use it
// `immediate`: the SDK's compiler has put the first coefficient into an instruction.
float accurate_tangent(float x, bool immediate);
float polynomial_tangent(float x);  // for 16 bits
float times_exponential(float x, float power);  // x * exp(power), power < 0
// 2^(scaled - 127): the whole part becomes the exponent, a parabola with this constant term replaces 2^fraction.
float power_of_two(float scaled, float constant);
// Nearest whole number, ties away from zero, of at most 15 bits.
float whole(float x);
float whole_size(float x);  // of |x|, 255 at most

}  // namespace chip
}  // namespace vd
