// Functions of the vector unit in `chip` numerics, one per operation.
#pragma once

#include "chip_vector.h"

namespace vd {
namespace chip {

float exponential(float x, const Variant& v);
float exponential2(float x, const Variant& v);
float exponential_minus_one(float x, const Variant& v);
float sigmoid(float x, const Variant& v);
float silu(float x, const Variant& v);
float hyperbolic_tangent(float x, const Variant& v);

float square_root(float x, const Variant& v);
float reciprocal_root(float x, const Variant& v);
float reciprocal(float x, const Variant& v);
float power(float base, float exponent, const Variant& v);
float logarithm(float x, const Variant& v);
float logarithm_plus_one(float x, const Variant& v);
float gelu(float x, const Variant& v);
float error_function(float x, const Variant& v);
float sine(float x, const Variant& v);
float cosine(float x, const Variant& v);

// 1 / x as other functions use it: a first guess and `steps` refinements.
float reciprocal_in_steps(float x, int32_t steps);
float table_reciprocal(float x);  // the guess of Blackhole
float accurate_exponential(float x);
// 2^(scaled - 127): the whole part becomes the exponent, a parabola with this constant term replaces 2^fraction.
float power_of_two(float scaled, float constant);
// Nearest whole number, ties away from zero, of at most 15 bits.
float whole(float x);

}  // namespace chip
}  // namespace vd
