// The SFPI language: expressions over vectors of 32 lanes, kept in DST, with lanes switched off by v_if.
//
// A product that is added to something is one multiply-add, as the SDK's compiler makes it; with a summand of at most 8
// significant bits it takes the add-immediate instruction instead, so the product is rounded first.
#pragma once

#include <type_traits>

#include "vd/missing.h"
#include "vd/sfpi_abi.h"

namespace sfpi {

using vd::kLanes;

namespace detail {

template <typename To, typename From>
To cast_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "lanes have 32 bits");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

inline bool is_on(uint32_t lane) { return vd_sfpi_state()->lanes >> lane & 1; }

}  // namespace detail

struct vBool {
    uint32_t lanes;
    vBool operator!() const { return {~lanes}; }
};
inline vBool operator&&(vBool a, vBool b) { return {a.lanes & b.lanes}; }
inline vBool operator||(vBool a, vBool b) { return {a.lanes | b.lanes}; }

// Lanes of one type. A new vector takes every lane, an assignment those that are switched on.
template <typename T>
struct Lanes {
    T at[kLanes];

    Lanes() = default;
    Lanes(T all) {
        for (T& lane : at) lane = all;
    }
    Lanes(const Lanes&) = default;
    Lanes& operator=(const Lanes& from) {
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            if (detail::is_on(lane)) at[lane] = from.at[lane];
        }
        return *this;
    }
};

template <typename Result, typename Function>
Result lanewise(Function function) {
    Result result;
    for (uint32_t lane = 0; lane < kLanes; ++lane) result.at[lane] = function(lane);
    return result;
}
template <typename Function>
vBool where(Function function) {
    uint32_t lanes = 0;
    for (uint32_t lane = 0; lane < kLanes; ++lane) lanes |= static_cast<uint32_t>(function(lane)) << lane;
    return {lanes};
}

struct Register;

struct vFloat : Lanes<float> {
    using Lanes::Lanes;
    vFloat(int all) : Lanes(static_cast<float>(all)) {}
    vFloat(double all) : Lanes(static_cast<float>(all)) {}
    vFloat(const Register& from);
    vFloat operator-() const;
    vFloat& operator+=(const vFloat& other);
    vFloat& operator-=(const vFloat& other);
    vFloat& operator*=(const vFloat& other);
};

template <typename T>
struct Whole : Lanes<T> {
    using Lanes<T>::Lanes;
    template <typename Other, typename = std::enable_if_t<std::is_arithmetic_v<Other>>>
    Whole(Other all) : Lanes<T>(static_cast<T>(all)) {}
    Whole(const Register& from);
    template <typename Other>
    explicit Whole(const Whole<Other>& from) {
        for (uint32_t lane = 0; lane < kLanes; ++lane) this->at[lane] = static_cast<T>(from.at[lane]);
    }
#define VD_WHOLE(OP)                                                                                               \
    friend Whole operator OP(const Whole& a, const Whole& b) {                                                     \
        return lanewise<Whole>([&](uint32_t i) {                                                                   \
            return static_cast<T>(static_cast<uint32_t>(a.at[i]) OP static_cast<uint32_t>(b.at[i]));               \
        });                                                                                                        \
    }                                                                                                              \
    Whole& operator OP##=(const Whole& other) { return *this = *this OP other; }
    VD_WHOLE(+) VD_WHOLE(-) VD_WHOLE(&) VD_WHOLE(|) VD_WHOLE(^)
#undef VD_WHOLE
#define VD_WHOLE(OP) \
    friend vBool operator OP(const Whole& a, const Whole& b) { return where([&](uint32_t i) { return a.at[i] OP b.at[i]; }); }
    VD_WHOLE(<) VD_WHOLE(>) VD_WHOLE(<=) VD_WHOLE(>=) VD_WHOLE(==) VD_WHOLE(!=)
#undef VD_WHOLE
    Whole operator~() const {
        return lanewise<Whole>([&](uint32_t i) { return ~this->at[i]; });
    }
    Whole operator<<(uint32_t by) const {
        return lanewise<Whole>([&](uint32_t i) { return static_cast<T>(static_cast<uint32_t>(this->at[i]) << by); });
    }
    Whole operator>>(uint32_t by) const {
        return lanewise<Whole>([&](uint32_t i) { return static_cast<T>(this->at[i] >> by); });
    }
};
using vInt = Whole<int32_t>;
using vUInt = Whole<uint32_t>;

// ---- DST -------------------------------------------------------------------------------------------

struct Register {
    uint32_t vector;

    const Register& operator=(const vFloat& value) const { return store(value.at, false); }
    template <typename T>
    const Register& operator=(const Whole<T>& value) const {
        return store(value.at, true);
    }
    const Register& operator=(const Register& from) const { return *this = vFloat(from); }
    const Register& operator=(float value) const { return *this = vFloat(value); }

private:
    template <typename T>
    const Register& store(const T* lanes, bool integers) const {
        uint32_t bits[kLanes];
        __builtin_memcpy(bits, lanes, sizeof bits);
        vd_sfpi_store(vector, integers, bits);
        return *this;
    }
};
inline vFloat::vFloat(const Register& from) {
    uint32_t bits[kLanes];
    vd_sfpi_load(from.vector, false, bits);
    __builtin_memcpy(at, bits, sizeof bits);
}
template <typename T>
Whole<T>::Whole(const Register& from) {
    uint32_t bits[kLanes];
    vd_sfpi_load(from.vector, true, bits);
    __builtin_memcpy(this->at, bits, sizeof bits);
}

struct Registers {
    Register operator[](int vector) const { return {static_cast<uint32_t>(vector)}; }
    void operator++() const { *this += 1; }
    void operator++(int) const { *this += 1; }
    void operator+=(int vectors) const { vd_sfpi_state()->step += static_cast<uint32_t>(vectors); }
};
inline constexpr Registers dst_reg{};

// ---- constants -------------------------------------------------------------------------------------

constexpr float vConst0 = 0.0f, vConst1 = 1.0f, vConstNeg1 = -1.0f, vConst0p8373 = 0.8373f;

struct ProgramConstant {
    uint32_t number;
    const ProgramConstant& operator=(const vFloat& value) const {
        __builtin_memcpy(vd_sfpi_state()->constants[number], value.at, sizeof value.at);
        return *this;
    }
    operator vFloat() const {
        vFloat value;
        __builtin_memcpy(value.at, vd_sfpi_state()->constants[number], sizeof value.at);
        return value;
    }
};
inline constexpr ProgramConstant vConstFloatPrgm0{0}, vConstFloatPrgm1{1}, vConstFloatPrgm2{2};

struct LaneNumbers {
    operator vInt() const {
        return lanewise<vInt>([](uint32_t lane) { return static_cast<int32_t>(2 * lane); });
    }
};
inline constexpr LaneNumbers vConstTileId{};

// ---- arithmetic ------------------------------------------------------------------------------------

inline vFloat mad(const vFloat& a, const vFloat& b, const vFloat& c) {
    vFloat sum;
    vd_sfpi_mad(a.at, b.at, c.at, sum.at);
    return sum;
}

struct Product {
    vFloat a, b;
    operator vFloat() const { return mad(a, b, 0.0f); }
};
inline Product operator*(const vFloat& a, const vFloat& b) { return {a, b}; }

inline vFloat vFloat::operator-() const {
    return lanewise<vFloat>([&](uint32_t i) { return -at[i]; });
}
inline vFloat operator+(const vFloat& a, const vFloat& b) { return mad(a, 1.0f, b); }
inline vFloat operator-(const vFloat& a, const vFloat& b) { return mad(b, -1.0f, a); }
inline vFloat operator+(const Product& p, const vFloat& c) { return mad(p.a, p.b, c); }
inline vFloat operator+(const vFloat& c, const Product& p) { return mad(p.a, p.b, c); }
inline vFloat operator-(const Product& p, const vFloat& c) { return mad(p.a, p.b, -c); }
inline vFloat operator-(const vFloat& c, const Product& p) { return mad(-p.a, p.b, c); }
inline vFloat operator+(const Product& p, const Product& q) { return mad(p.a, p.b, q); }
inline vFloat operator-(const Product& p, const Product& q) { return mad(p.a, p.b, -vFloat(q)); }
inline vFloat operator+(const Product& p, float c) {
    const bool immediate = (detail::cast_bits<uint32_t>(c) & 0xFFFFu) == 0;
    return immediate ? vFloat(p) + vFloat(c) : mad(p.a, p.b, c);
}
inline vFloat operator+(float c, const Product& p) { return p + c; }
inline vFloat operator-(const Product& p, float c) { return p + -c; }
inline vFloat& vFloat::operator+=(const vFloat& other) { return static_cast<vFloat&>(*this = *this + other); }
inline vFloat& vFloat::operator-=(const vFloat& other) { return static_cast<vFloat&>(*this = *this - other); }
inline vFloat& vFloat::operator*=(const vFloat& other) {
    return static_cast<vFloat&>(*this = vFloat(*this * other));
}

#define VD_COMPARE(OP) \
    inline vBool operator OP(const vFloat& a, const vFloat& b) { return where([&](uint32_t i) { return a.at[i] OP b.at[i]; }); }
VD_COMPARE(<) VD_COMPARE(>) VD_COMPARE(<=) VD_COMPARE(>=) VD_COMPARE(==) VD_COMPARE(!=)
#undef VD_COMPARE

}  // namespace sfpi

#include "vd/sfpi_functions.h"

// ---- lanes -----------------------------------------------------------------------------------------

namespace sfpi {

class Branch {
public:
    Branch() : before_(vd_sfpi_state()->lanes), left_(before_) {}
    ~Branch() { vd_sfpi_state()->lanes = before_; }
    Branch(const Branch&) = delete;
    Branch& operator=(const Branch&) = delete;
    void take(vBool condition) {
        vd_sfpi_state()->lanes = left_ & condition.lanes;
        left_ &= ~condition.lanes;
    }
    void rest() { vd_sfpi_state()->lanes = left_; }
    void narrow(vBool condition) { vd_sfpi_state()->lanes &= condition.lanes; }

private:
    uint32_t before_, left_;
};

}  // namespace sfpi

#define v_if(x) { sfpi::Branch vd_branch; vd_branch.take(x); {
#define v_elseif(x) } vd_branch.rest(); vd_branch.take(x); {
#define v_else } vd_branch.rest(); {
#define v_endif } }
#define v_block { sfpi::Branch vd_branch;
#define v_and(x) vd_branch.narrow(x)
#define v_endblock }
