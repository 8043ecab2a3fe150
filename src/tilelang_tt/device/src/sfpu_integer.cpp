// Vector-unit operations on integers: two's complement, wrapping. Columns: operation, its init, name, operands, meaning.
#include "sfpu.h"

namespace vd {
namespace {

int32_t i(uint32_t bits) { return static_cast<int32_t>(bits); }
uint32_t u(int32_t value) { return static_cast<uint32_t>(value); }
uint32_t u(bool holds) { return holds ? 1u : 0u; }

void refuse_zero(uint32_t divisor, const char* name) {
    if (divisor == 0) undefined("%s by zero", name);
}
int64_t floor_divide(int64_t x, int64_t y) { return x / y - (x % y != 0 && (x < 0) != (y < 0)); }
int64_t quotient(uint32_t x, uint32_t y, bool floors) {
    refuse_zero(y, "integer division");
    return floors ? floor_divide(i(x), i(y)) : int64_t{i(x)} / i(y);
}
int64_t rest(uint32_t x, uint32_t y, bool floors) { return int64_t{i(x)} - quotient(x, y, floors) * i(y); }
uint32_t magnitude(uint32_t x) { return i(x) < 0 ? 0u - x : x; }
uint32_t divisor_of(uint32_t x, uint32_t y) {
    for (x = magnitude(x), y = magnitude(y); y != 0;) {
        const uint32_t next = x % y;
        x = y;
        y = next;
    }
    return x;
}
uint32_t multiple_of(uint32_t x, uint32_t y) { return x == 0 || y == 0 ? 0 : magnitude(x) / divisor_of(x, y) * magnitude(y); }
uint32_t unsigned_rest(uint32_t x, uint32_t y) {
    refuse_zero(y, "integer remainder");
    return x % y;
}
// Shifts to the left by more than the width leave nothing. To the right, 32-bit types repeat their sign, UInt32 too.
uint32_t left(uint32_t x, uint32_t by) { return by < 32 ? x << by : 0; }
uint32_t right(uint32_t x, uint32_t by, DataFormat format) {
    if (format == DataFormat::UInt16) return by < 32 ? x >> by : 0;
    return u(i(x) >> (by < 32 ? by : 31));
}

// clang-format off
const IntRow kIntegerRows[] = {
    {Sfpu::AbsInt, Sfpu::Abs, "abs_tile_int32", 1, VD_INT(magnitude(a))},
    {Sfpu::AddScalarInt, Sfpu::Scalar, "add_unary_tile_int32", 1, VD_INT(a + s.u[0])},
    {Sfpu::SubScalarInt, Sfpu::Scalar, "sub_unary_tile_int32", 1, VD_INT(a - s.u[0])},
    {Sfpu::RsubScalarInt, Sfpu::RsubScalarInt, "rsub_unary_int32_tile", 1, VD_INT(s.u[0] - a)},
    {Sfpu::BitwiseAnd, Sfpu::BitwiseAnd, "bitwise_and_tile", 1, VD_INT(a & s.u[0])},
    {Sfpu::BitwiseOr, Sfpu::BitwiseOr, "bitwise_or_tile", 1, VD_INT(a | s.u[0])},
    {Sfpu::BitwiseXor, Sfpu::BitwiseXor, "bitwise_xor_tile", 1, VD_INT(a ^ s.u[0])},
    {Sfpu::BitwiseNot, Sfpu::BitwiseNot, "bitwise_not_tile", 1, VD_INT(~a)},
    {Sfpu::ClampInt, Sfpu::Clamp, "clamp_tile_int32", 1, VD_INT(i(a) < i(s.u[0]) ? s.u[0] : i(a) > i(s.u[1]) ? s.u[1] : a)},
    {Sfpu::EqzInt, Sfpu::Eqz, "eqz_tile of integers", 1, VD_INT(u(a == 0))},
    {Sfpu::NezInt, Sfpu::Nez, "nez_tile of integers", 1, VD_INT(u(a != 0))},
    {Sfpu::GtzInt, Sfpu::Gtz, "gtz_tile_int32", 1, VD_INT(u(i(a) > 0))},
    {Sfpu::GezInt, Sfpu::Gez, "gez_tile_int32", 1, VD_INT(u(i(a) >= 0))},
    {Sfpu::LtzInt, Sfpu::Ltz, "ltz_tile_int32", 1, VD_INT(u(i(a) < 0))},
    {Sfpu::LezInt, Sfpu::Lez, "lez_tile_int32", 1, VD_INT(u(i(a) <= 0))},
    {Sfpu::FillInt, Sfpu::Fill, "fill_tile_int", 1, VD_INT(s.u[0])},
    {Sfpu::LeftShift, Sfpu::LeftShift, "left_shift_tile", 1, VD_INT(left(a, s.u[0]))},
    {Sfpu::RightShift, Sfpu::RightShift, "right_shift_tile", 1, VD_INT(right(a, s.u[0], s.format))},
    {Sfpu::LogicalNotInt, Sfpu::LogicalNot, "logical_not_tile", 1, VD_INT(u(a == 0))},
    {Sfpu::NegativeInt, Sfpu::Negative, "negative_tile_int32", 1, VD_INT(0u - a)},
    {Sfpu::ReluInt, Sfpu::Relu, "relu_tile_int32", 1, VD_INT(i(a) < 0 ? 0u : a)},
    {Sfpu::ReluMaxInt, Sfpu::ReluMax, "relu_max_tile_int32", 1, VD_INT(i(a) < 0 ? 0u : i(a) > i(s.u[0]) ? s.u[0] : a)},
    {Sfpu::ReluMaxUint, Sfpu::ReluMax, "relu_max_tile of unsigned integers", 1, VD_INT(a > s.u[0] ? s.u[0] : a)},
    {Sfpu::ReluMinInt, Sfpu::ReluMin, "relu_min_tile_int32", 1, VD_INT(i(a) < i(s.u[0]) ? 0u : a)},
    {Sfpu::ReluMinUint, Sfpu::ReluMin, "relu_min_tile of unsigned integers", 1, VD_INT(a < s.u[0] ? 0u : a)},
    {Sfpu::SignbitInt, Sfpu::SignbitInt, "signbit_tile_int32", 1, VD_INT(a >> 31)},
    {Sfpu::UnaryEqInt, Sfpu::UnaryEq, "unary_eq_tile_int32", 1, VD_INT(u(a == s.u[0]))},
    {Sfpu::UnaryNeInt, Sfpu::UnaryNe, "unary_ne_tile_int32", 1, VD_INT(u(a != s.u[0]))},
    {Sfpu::UnaryGtInt, Sfpu::UnaryGt, "unary_gt_tile_int32", 1, VD_INT(u(i(a) > i(s.u[0])))},
    {Sfpu::UnaryGeInt, Sfpu::UnaryGe, "unary_ge_tile_int32", 1, VD_INT(u(i(a) >= i(s.u[0])))},
    {Sfpu::UnaryLtInt, Sfpu::UnaryLt, "unary_lt_tile_int32", 1, VD_INT(u(i(a) < i(s.u[0])))},
    {Sfpu::UnaryLeInt, Sfpu::UnaryLe, "unary_le_tile_int32", 1, VD_INT(u(i(a) <= i(s.u[0])))},
    {Sfpu::UnaryMaxInt, Sfpu::UnaryMaxInt, "unary_max_int32_tile", 1, VD_INT(i(a) > i(s.u[0]) ? a : s.u[0])},
    {Sfpu::UnaryMinInt, Sfpu::UnaryMinInt, "unary_min_int32_tile", 1, VD_INT(i(a) < i(s.u[0]) ? a : s.u[0])},
    {Sfpu::UnaryMaxUint, Sfpu::UnaryMaxUint, "unary_max_uint32_tile", 1, VD_INT(a > s.u[0] ? a : s.u[0])},
    {Sfpu::UnaryMinUint, Sfpu::UnaryMinUint, "unary_min_uint32_tile", 1, VD_INT(a < s.u[0] ? a : s.u[0])},
    {Sfpu::RemainderUint, Sfpu::RemainderUint, "remainder_tile_uint32", 1, VD_INT(unsigned_rest(a, s.u[0]))},
    {Sfpu::AddInt, Sfpu::AddInt, "add_int_tile", 2, VD_INT(a + b)},
    {Sfpu::SubInt, Sfpu::SubInt, "sub_int_tile", 2, VD_INT(a - b)},
    {Sfpu::RsubInt, Sfpu::RsubInt, "rsub_int_tile", 2, VD_INT(b - a)},
    {Sfpu::MulInt, Sfpu::MulInt, "mul_int_tile", 2, VD_INT(a * b)},
    {Sfpu::EqInt, Sfpu::EqInt, "eq_int_tile", 2, VD_INT(u(a == b))},
    {Sfpu::NeInt, Sfpu::NeInt, "ne_int_tile", 2, VD_INT(u(a != b))},
    {Sfpu::LtInt, Sfpu::LtInt, "lt_int_tile", 2, VD_INT(u(s.format == DataFormat::Int32 ? i(a) < i(b) : a < b))},
    {Sfpu::GtInt, Sfpu::GtInt, "gt_int_tile", 2, VD_INT(u(s.format == DataFormat::Int32 ? i(a) > i(b) : a > b))},
    {Sfpu::LeInt, Sfpu::LeInt, "le_int_tile", 2, VD_INT(u(s.format == DataFormat::Int32 ? i(a) <= i(b) : a <= b))},
    {Sfpu::GeInt, Sfpu::GeInt, "ge_int_tile", 2, VD_INT(u(s.format == DataFormat::Int32 ? i(a) >= i(b) : a >= b))},
    {Sfpu::MaxInt, Sfpu::MaxInt, "binary_max_int32_tile", 2, VD_INT(i(a) > i(b) ? a : b)},
    {Sfpu::MinInt, Sfpu::MinInt, "binary_min_int32_tile", 2, VD_INT(i(a) < i(b) ? a : b)},
    {Sfpu::MaxUint, Sfpu::MaxUint, "binary_max_uint32_tile", 2, VD_INT(a > b ? a : b)},
    {Sfpu::MinUint, Sfpu::MinUint, "binary_min_uint32_tile", 2, VD_INT(a < b ? a : b)},
    {Sfpu::AndInt, Sfpu::BinaryBitwise, "bitwise_and_binary_tile", 2, VD_INT(a & b)},
    {Sfpu::OrInt, Sfpu::BinaryBitwise, "bitwise_or_binary_tile", 2, VD_INT(a | b)},
    {Sfpu::XorInt, Sfpu::BinaryBitwise, "bitwise_xor_binary_tile", 2, VD_INT(a ^ b)},
    {Sfpu::ShiftLeft, Sfpu::BinaryShift, "binary_left_shift_tile", 2, VD_INT(left(a, b))},
    {Sfpu::ShiftRight, Sfpu::BinaryShift, "binary_right_shift_tile", 2, VD_INT(right(a, b, s.format))},
    {Sfpu::ShiftRightLogical, Sfpu::BinaryShift, "binary_logical_right_shift_tile", 2, VD_INT(b < 32 ? a >> b : 0)},
    {Sfpu::DivInt, Sfpu::DivInt, "div_int32_tile", 2, VD_INT(bits_of(static_cast<float>(static_cast<double>(i(a)) / i(b))))},
    {Sfpu::DivFloorInt, Sfpu::DivFloorInt, "div_int32_floor_tile", 2, VD_INT(static_cast<uint32_t>(quotient(a, b, true)))},
    {Sfpu::DivTruncInt, Sfpu::DivTruncInt, "div_int32_trunc_tile", 2, VD_INT(static_cast<uint32_t>(quotient(a, b, false)))},
    {Sfpu::BinaryFmodInt, Sfpu::BinaryFmodInt, "fmod_int32_tile", 2, VD_INT(static_cast<uint32_t>(rest(a, b, false)))},
    {Sfpu::BinaryRemainderInt, Sfpu::BinaryRemainderInt, "remainder_int32_tile", 2, VD_INT(static_cast<uint32_t>(rest(a, b, true)))},
    {Sfpu::BinaryRemainderUint, Sfpu::BinaryRemainderUint, "remainder_uint32_tile", 2, VD_INT(unsigned_rest(a, b))},
    {Sfpu::Gcd, Sfpu::Gcd, "gcd_tile", 2, VD_INT(divisor_of(a, b))},
    {Sfpu::Lcm, Sfpu::Lcm, "lcm_tile", 2, VD_INT(multiple_of(a, b))},
};
// clang-format on

}  // namespace

const IntRow* find_integer(Sfpu op) {
    for (const IntRow& row : kIntegerRows) {
        if (row.op == op) return &row;
    }
    return nullptr;
}

}  // namespace vd
