// Functions of the SFPI language on signs, exponents and mantissas, limits, and conversions.
#pragma once

#include "sfpi.h"

namespace sfpi {

enum class ExponentMode : uint8_t { Unbiased, Biased };

namespace detail {

constexpr uint32_t kSignBit = 0x80000000u, kExponentBits = 0x7F800000u, kMantissaBits = 0x7FFFFFu;

template <typename Result, typename Vector, typename Function>
Result on_bits(const Vector& v, Function function) {
    return lanewise<Result>([&](uint32_t i) {
        return cast_bits<std::decay_t<decltype(Result::at[0])>>(function(cast_bits<uint32_t>(v.at[i]), i));
    });
}

}  // namespace detail

template <typename Result, typename Vector>
Result as(const Vector& v) {
    return detail::on_bits<Result>(v, [](uint32_t bits, uint32_t) { return bits; });
}
template <typename Result, typename Vector>
Result reinterpret(const Vector& v) {
    return as<Result>(v);
}

inline vFloat abs(const vFloat& v) {
    return detail::on_bits<vFloat>(v, [](uint32_t bits, uint32_t) { return bits & ~detail::kSignBit; });
}
inline vInt abs(const vInt& v) {
    return lanewise<vInt>([&](uint32_t i) { return v.at[i] < 0 ? static_cast<int32_t>(-static_cast<uint32_t>(v.at[i])) : v.at[i]; });
}
inline vFloat setsgn(const vFloat& v, int sign) {
    return detail::on_bits<vFloat>(v, [&](uint32_t bits, uint32_t) {
        return (bits & ~detail::kSignBit) | (sign != 0 ? detail::kSignBit : 0);
    });
}
inline vFloat copysgn(const vFloat& v, const vFloat& sign) {
    return detail::on_bits<vFloat>(v, [&](uint32_t bits, uint32_t i) {
        return (bits & ~detail::kSignBit) | (detail::cast_bits<uint32_t>(sign.at[i]) & detail::kSignBit);
    });
}
inline vFloat setsgn(const vFloat& v, const vFloat& sign) { return copysgn(v, sign); }

inline vInt exexp(const vFloat& v, ExponentMode mode = ExponentMode::Unbiased) {
    return detail::on_bits<vInt>(v, [&](uint32_t bits, uint32_t) {
        return (bits >> 23 & 255u) - (mode == ExponentMode::Unbiased ? 127u : 0u);
    });
}
inline vInt exexp_nodebias(const vFloat& v) { return exexp(v, ExponentMode::Biased); }
inline vInt exman9(const vFloat& v) {
    return detail::on_bits<vInt>(v, [](uint32_t bits, uint32_t) { return bits & detail::kMantissaBits; });
}
inline vInt exman8(const vFloat& v) {
    return detail::on_bits<vInt>(v, [](uint32_t bits, uint32_t) { return (bits & detail::kMantissaBits) | 0x800000u; });
}
inline vFloat setexp(const vFloat& v, const vInt& exponent) {
    return detail::on_bits<vFloat>(v, [&](uint32_t bits, uint32_t i) {
        return (bits & ~detail::kExponentBits) | (static_cast<uint32_t>(exponent.at[i]) & 255u) << 23;
    });
}
inline vFloat setman(const vFloat& v, const vInt& mantissa) {
    return detail::on_bits<vFloat>(v, [&](uint32_t bits, uint32_t i) {
        return (bits & ~detail::kMantissaBits) | (static_cast<uint32_t>(mantissa.at[i]) & detail::kMantissaBits);
    });
}
inline vFloat addexp(const vFloat& v, int by) {
    return detail::on_bits<vFloat>(v, [&](uint32_t bits, uint32_t) {
        const uint32_t exponent = bits >> 23 & 255u;
        if (exponent == 0 || exponent == 255u) return bits;
        return (bits & ~detail::kExponentBits) | ((exponent + static_cast<uint32_t>(by)) & 255u) << 23;
    });
}
inline vUInt shft(const vUInt& v, const vInt& by) {
    return lanewise<vUInt>([&](uint32_t i) {
        const int32_t amount = by.at[i];
        if (amount <= -32 || amount >= 32) return 0u;
        return amount >= 0 ? v.at[i] << amount : v.at[i] >> -amount;
    });
}

inline vFloat min(const vFloat& a, const vFloat& b) {
    return lanewise<vFloat>([&](uint32_t i) { return b.at[i] < a.at[i] ? b.at[i] : a.at[i]; });
}
inline vFloat max(const vFloat& a, const vFloat& b) {
    return lanewise<vFloat>([&](uint32_t i) { return a.at[i] < b.at[i] ? b.at[i] : a.at[i]; });
}
inline vFloat clamp(const vFloat& v, const vFloat& low, const vFloat& high) { return min(max(v, low), high); }

inline vBool is_zero(const vFloat& v) { return v == vFloat(0.0f); }
inline vBool is_neg(const vFloat& v) { return as<vInt>(v) < vInt(0); }
inline vBool is_pos(const vFloat& v) { return !is_neg(v); }
inline vBool is_finite(const vFloat& v) { return exexp_nodebias(v) < vInt(255); }
inline vBool is_inf(const vFloat& v) { return !is_finite(v) && exman9(v) == vInt(0); }
inline vBool is_nan(const vFloat& v) { return !is_finite(v) && exman9(v) != vInt(0); }

namespace detail {

struct Parameters {
    uint32_t bits[3];
};
inline vFloat function(vd::Sfpu op, const vFloat& x, Parameters p, bool fast) {
    const vd::SfpuCall call{op, 0, {}, {p.bits[0], p.bits[1], p.bits[2]}, DataFormat::Invalid, fast};
    vFloat result;
    vd_sfpi_function(&call, x.at, result.at);
    return result;
}

}  // namespace detail

// Functions whose instructions this device does not have.
#define VD_NO_SFPI(TYPE, NAME)                              \
    template <typename... Args>                             \
    TYPE NAME(const Args&...) {                             \
        vd_unimplemented(#NAME, vd_sfpi_state()->line);     \
    }
VD_NO_SFPI(vFloat, lut)
VD_NO_SFPI(vFloat, lut_sign)
VD_NO_SFPI(vFloat, lut2)
VD_NO_SFPI(vFloat, lut2_sign)
VD_NO_SFPI(vFloat, int32_to_float)
VD_NO_SFPI(vFloat, approx_recip)
VD_NO_SFPI(vFloat, approx_exp)
VD_NO_SFPI(vUInt, float_to_fp16a)
VD_NO_SFPI(vUInt, float_to_fp16b)
VD_NO_SFPI(vUInt, float_to_int8)
VD_NO_SFPI(vUInt, float_to_uint8)
VD_NO_SFPI(vUInt, float_to_int16)
VD_NO_SFPI(vUInt, float_to_uint16)
VD_NO_SFPI(vInt, lz)
VD_NO_SFPI(vInt, rand)
VD_NO_SFPI(void, vec_min_max)
VD_NO_SFPI(void, vec_swap)
VD_NO_SFPI(void, subvec_transp)
#undef VD_NO_SFPI

}  // namespace sfpi
