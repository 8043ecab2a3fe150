// Numbers shared by kernel headers and the runner: data formats and operations.
#pragma once

#include <cstdint>

// Values as in tt::DataFormat.
enum class DataFormat : uint8_t {
    Float32 = 0,
    Float16 = 1,
    Tf32 = 4,
    Float16_b = 5,
    Bfp8_b = 6,
    Bfp4_b = 7,
    Int32 = 8,
    UInt16 = 9,
    UInt32 = 24,
    UInt8 = 30,
    Invalid = 255,
};

namespace vd {

enum class Binary : uint8_t { Add, Sub, Mul };
enum class Broadcast : uint8_t { None, Rows, Cols, Scalar };

// One name per vector-unit operation; the meaning and the rounding of each stand in src/sfpu.cpp.
enum class Sfpu : uint8_t {
    Abs,
    Exp,
    Exp2,
    Fill,
    Gelu,
    GeluTanh,
    Log,
    Negative,
    Recip,
    Relu,
    Rsqrt,
    Sigmoid,
    Silu,
    Sqrt,
    Square,
    Tanh,
    UnaryMax,
    UnaryMin,
    Scalar,  // the init shared by the five *_unary_tile operations
    AddScalar,
    SubScalar,
    MulScalar,
    DivScalar,
    RsubScalar,
    BinaryAdd,
    BinarySub,
    BinaryMul,
    BinaryDiv,
    BinaryRsub,
    BinaryPower,
    BinaryMax,
    BinaryMin,
    Typecast,
    None,
};

}  // namespace vd
