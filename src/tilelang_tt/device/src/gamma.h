// The gamma function's kin on the vector unit, as the SDK's kernels compose them: Stirling's series for x of at least 0.5, of
// 1 - x below, and a reflection that another call adds; derivatives as sums with the series of Euler and Maclaurin.
#pragma once

#include <cmath>
#include <limits>

namespace vd {

constexpr float kLogOfRoot2Pi = 0.9189385332046727f, kLogOfPi = 1.1447298858f, kLogOfRootPi = 0.57236494f;

inline float reflected(float x) { return x < 0.5f ? 1.0f - x : x; }

// With two terms behind the series, for bfloat16.
inline float lgamma_short(float x) {
    if (x == 1.0f || x == 2.0f) return 0.0f;
    const float z = reflected(x), inverse = 1.0f / z;
    const float series = inverse * (0.0833333333f - inverse * inverse * 0.0027777777f);
    return (z - 0.5f) * std::log(z) - z + kLogOfRoot2Pi + series;
}

// With four, and polynomials around the zeros at 1 and 2. The logarithm of z has been computed before.
inline float lgamma_long(float x, float log_of_z) {
    const float z = reflected(x), near_1 = z - 1.0f, near_2 = z - 2.0f;
    if (std::fabs(z - 0.5f) < 0.01f) return kLogOfRootPi;
    if (std::fabs(near_1) < 0.25f) {
        const float d = near_1;
        return d * (-0.57721566f + d * (0.82246703f + d * (-0.40068563f + d * (0.27058081f - d * 0.20738555f))));
    }
    if (std::fabs(near_2) < 0.25f) {
        const float d = near_2;
        return d * (0.42278434f + d * (0.32246703f + d * (-0.06735230f + d * (0.02058081f - d * 0.00738555f))));
    }
    const float inverse = 1.0f / z, square = inverse * inverse;
    const float series = 0.0833333333f + square * (-0.0027777777f + square * (0.0007936507f - square * 0.0005952380f));
    return (z - 0.5f) * log_of_z - z + kLogOfRoot2Pi + inverse * series;
}

// log(pi) - log|sin(pi x)| - lgamma(1 - x) below 0.5. A 32-bit DST has infinity at both infinities.
inline float lgamma_reflected(float series, float log_of_sine, float x, bool wide) {
    if (wide && std::isinf(x)) return std::numeric_limits<float>::infinity();
    return x < 0.5f ? kLogOfPi - log_of_sine - series : series;
}

// For positive x; the SDK's own is defined for no other.
inline float digamma(float x) {
    if (std::isinf(x) && x > 0) return x;
    if (!(x > 0.0f)) return std::numeric_limits<float>::quiet_NaN();
    double at = x, sum = 0.0;
    for (; at < 10.0; at += 1.0) sum -= 1.0 / at;
    const double square = 1.0 / (at * at);
    const double series = square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square / 240)));
    return static_cast<float>(sum + std::log(at) - 0.5 / at - series);
}

// The derivative of order n of digamma; `scale` is n! with its sign. Six terms, then the rest of the sum.
inline float polygamma(float x, float order, float scale) {
    constexpr int kTerms = 6;
    const double n = static_cast<int>(order);
    double sum = 0.0;
    for (int k = 0; k < kTerms; ++k) sum += std::pow(static_cast<double>(x) + k, -(n + 1));
    const double z = static_cast<double>(x) + kTerms, square = 1.0 / (z * z);
    const double third = (n + 1) * (n + 2) * (n + 3), fifth = third * (n + 4) * (n + 5);
    const double series = 1.0 / n + square * ((n + 1) / 12 - square * (third / 720 - square * fifth / 30240));
    return static_cast<float>((sum + std::pow(z, -n) * (series + 0.5 / z)) * static_cast<double>(scale));
}

}  // namespace vd
