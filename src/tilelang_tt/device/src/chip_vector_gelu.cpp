// `chip` numerics of the vector unit: the error function and GELU.
#include "chip_vector.h"
#include "chip_vector_functions.h"

namespace vd {
namespace chip {
namespace {

constexpr float kGeluIsZero = -5.54259443f;  // up to here the accurate forms give 0

float clamped(float value, float limit) { return larger_of(smaller_of(value, limit), -limit); }

// x / 2 plus a function of |x| in six lines; coefficients are Float16 numbers.
float gelu_of_lines(float x) {
    struct Line {
        float below, slope, offset;
    };
    static const Line kLines[] = {{0.5f, 0x1.8acp-3f, -0x1.b6p-14f}, {1.0f, 0x1.f9cp-2f, -0x1.488p-3f},
                                  {1.5f, 0x1.3ccp-1f, -0x1.1e4p-2f}, {2.0f, 0x1.384p-1f, -0x1.0dcp-2f},
                                  {3.0f, 0x1.148p-1f, -0x1.e9p-4f},  {kInfinity, 0.5f, 0.0f}};
    const float size = from_bits(to_bits(x) & ~kSign);
    const Line* line = kLines;
    while (line->below < kInfinity && !(size < line->below)) ++line;
    return add(mul(x, 0.5f), mad(line->slope, size, line->offset));
}

// x * (1 + erf(x / sqrt(2))) / 2 with a quotient of polynomials for the error function.
float accurate_gelu(float x) {
    if (!(rank(x) > order(kGeluIsZero))) return 0.0f;
    const float scaled = smaller_of(mul(x, 0.7071067811865475f), 10.0f), square = mul(scaled, scaled);
    const float above = polynomial(square, {-2.8632063387e-10f, 2.7384647439e-08f, 1.7678321456e-05f, 6.1307044234e-04f,
                                            5.6230435148e-03f, 6.2133435160e-02f, 2.1477432549e-01f, 1.1283791065e+00f});
    const float below =
        polynomial(square, {-6.7350725691e-12f, -3.5153888689e-09f, 1.3156344494e-06f, 1.3179056987e-04f,
                            1.9545555115e-03f, 1.9642570987e-02f, 1.2961706519e-01f, 5.2367275953e-01f, 1.0f});
    const float erf = clamped(mul(mul(above, scaled), reciprocal_in_steps(below, 2)), 1.0f);
    return erf == -1.0f ? mul(x, 0x1p-25f) : mul(x, add(mul(0.5f, erf), 0.5f));
}

// For a 16-bit DST: x itself, x times a polynomial for the normal distribution, or in the negative tail x times
// exp(-x^2 / 2) and a correction, rounded to multiples of 2^-25.
float short_gelu(float x) {
    if (!(rank(x) > order(kGeluIsZero))) return 0.0f;
    if (is_at_least(x, 2.78125f)) return x;
    const float square = mul(x, x);
    if (is_at_least(x, -3.125f)) {
        const float odd = polynomial(square, {7.9821413868e-08f, -3.8082057209e-06f, 8.1812159812e-05f, -1.0717806322e-03f,
                                              9.7720050615e-03f, -6.6361041488e-02f, 3.9894227818e-01f});
        return mul(x, add(mul(x, odd), 0.5f));
    }
    const float tail = power_of_two(add(mul(square, -0.72134752044f), 127.0f), 1.0017248f);
    const float correction =
        polynomial(x, {7.5950479368e-04f, 1.3809983619e-02f, 9.5413386822e-02f, 3.0369991064e-01f});
    return mul(x, add(add(mul(tail, correction), 0.375f), -0.375f));
}

}  // namespace

float gelu(float x, const Variant& v) {
    return v.fast ? gelu_of_lines(x) : v.wide ? accurate_gelu(x) : rounded(short_gelu(x), v);
}

// A quotient of polynomials, saturated.
float error_function(float x, const Variant& v) {
    const float limited = with_sign_of(smaller_of(magnitude(x), 10.0f), x), square = mul(limited, limited);
    const float above = mul(limited, polynomial(square, {7.4481184425e-04f, 4.5400281738e-02f, 2.7609212279e-01f,
                                                         1.1280932447e+00f}));
    const float below = polynomial(square, {2.4813862145e-05f, 8.2844606784e-03f, 1.3675764810e-01f, 5.7439188334e-01f,
                                            1.0f});
    return clamped(mul(above, reciprocal_in_steps(below, v.fast ? 0 : 2)), 1.0f);
}

}  // namespace chip
}  // namespace vd
