// Numbers shared by kernel headers and the runner: data formats, operations and their modes.
#pragma once

#include <cstdint>

// Values as in tt::DataFormat.
enum class DataFormat : uint8_t {
    Float32 = 0,
    Float16 = 1,
    Bfp8 = 2,
    Bfp4 = 3,
    Tf32 = 4,
    Float16_b = 5,
    Bfp8_b = 6,
    Bfp4_b = 7,
    Int32 = 8,
    UInt16 = 9,
    Lf8 = 10,
    Bfp2 = 11,
    Int16 = 13,
    Int8 = 14,
    Bfp2_b = 15,
    UInt32 = 24,
    Fp8_e4m3 = 26,
    UInt8 = 30,
    Invalid = 255,
};

// Names and values as in the SDK.
namespace ckernel {

enum class VectorMode : uint8_t { None = 0, R = 1, C = 2, RC = 4, RC_custom = 6, Invalid = 0xFF };
enum class ReduceDim : uint8_t { REDUCE_ROW, REDUCE_COL, REDUCE_SCALAR };
enum class PoolType : uint8_t { SUM, AVG, MAX, MIN };
enum class EltwiseBinaryType : uint8_t { ELWMUL, ELWDIV, ELWADD, ELWSUB, ELWLESS };
enum class EltwiseBinaryReuseDestType { NONE = 0, DEST_TO_SRCA = 1, DEST_TO_SRCB = 2 };
enum class BroadcastType : uint8_t { NONE = 0, COL = 1, ROW = 2, SCALAR = 3 };

}  // namespace ckernel

namespace vd {

enum class Binary : uint8_t { Add, Sub, Mul };
enum class Broadcast : uint8_t { None, Rows, Cols, Scalar };
enum class Product : uint8_t { Tiles, Block, BlockNoMop };
enum class Reuse : uint8_t { None, DstToSrcA, DstToSrcB };

constexpr uint32_t kTilesOfInit = 0;  // as many as the init has said

// One name per vector-unit operation; the meaning and the rounding of each stand in the tables of src/sfpu_*.cpp.
enum class Sfpu : uint8_t {
    // clang-format off
    // one float tile
    Abs, Acos, Acosh, Asin, Asinh, Atan, Atanh, Cbrt, Celu, Clamp, Cos, Cosh, Elu, Erf, Erfc, Erfinv, Exp, Exp2, Expm1,
    Fill, Fmod, Gelu, GeluDerivative, GeluTanh, Hardmish, Hardshrink, Hardsigmoid, Hardtanh, Heaviside, I0, I1,
    Identity, Isfinite, Isinf, Isnan, Isneginf, Isposinf, LeakyRelu, Log, Log1p, LogWithBase, LogicalNot, Mish,
    Negative, Power, PowerIterative, Prelu, Rdiv, Recip, Relu, ReluMax, ReluMin, Remainder, Rpow, Rsqrt, Rsub, Selu,
    Sigmoid, Sign, Signbit, Silu, Sin, Sinh, Softcap, Softplus, Softshrink, Softsign, Sqrt, Square, Tan, Tanh,
    TanhDerivative, Tanhshrink, Threshold, UnaryMax, UnaryMin, Xielu, Lgamma, Digamma, Polygamma,
    Rounding, Ceil, Floor, Frac, Round, Trunc,                        // Rounding: the init they share
    Scalar, AddScalar, SubScalar, MulScalar, DivScalar, RsubScalar,   // Scalar: the init they share
    Eqz, Nez, Gtz, Gez, Ltz, Lez, UnaryEq, UnaryNe, UnaryGt, UnaryGe, UnaryLt, UnaryLe,
    // two or three float tiles
    BinaryAdd, BinarySub, BinaryMul, BinaryDiv, BinaryRsub, BinaryPower, BinaryMax, BinaryMin, BinaryEq, BinaryNe,
    BinaryLt, BinaryGt, BinaryLe, BinaryGe, BinaryFmod, BinaryRemainder, Atan2, Logaddexp, Logaddexp2, Xlogy, Isclose, Logsigmoid, Mask,
    MaskPosinf, Where, Addcmul, Addcdiv, Lerp, Mac, SnakeBeta, LgammaLong, LgammaReflected, Quant, Requant, Dequant,
    // integers
    AbsInt, AddScalarInt, SubScalarInt, BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot, ClampInt, EqzInt, NezInt,
    GtzInt, GezInt, LtzInt, LezInt, FillInt, LeftShift, RightShift, LogicalNotInt, NegativeInt, ReluInt, ReluMaxInt,
    ReluMaxUint, ReluMinInt, ReluMinUint, RsubScalarInt, SignbitInt, UnaryEqInt, UnaryNeInt, UnaryGtInt, UnaryGeInt,
    UnaryLtInt, UnaryLeInt, UnaryMaxInt, UnaryMinInt, UnaryMaxUint, UnaryMinUint, RemainderUint,
    AddInt, SubInt, RsubInt, MulInt, EqInt, NeInt, LtInt, GtInt, LeInt, GeInt, MaxInt, MinInt, MaxUint, MinUint,
    BinaryBitwise, AndInt, OrInt, XorInt, BinaryShift, ShiftLeft, ShiftRight, ShiftRightLogical, DivInt, DivFloorInt,
    DivTruncInt, BinaryFmodInt, BinaryRemainderInt, BinaryRemainderUint, Gcd, Lcm,
    // whole tiles
    Typecast, CopyDest, BcastCol, BcastRow, Cumsum, Welford, Rand, Dropout, Reduce, TopK,
    None,
    // clang-format on
};

// One call of the vector unit.
struct SfpuCall {
    Sfpu op;
    uint32_t out;
    uint32_t in[3];
    uint32_t param[3];  // bit patterns
    DataFormat format = DataFormat::Invalid;
    bool fast = false;     // the SDK's approximate variant
    bool on_pack = false;  // runs on the pack processor, after tile_regs_wait
    ckernel::VectorMode mode = ckernel::VectorMode::RC;
    uint32_t iterations = 8;  // of 32 elements each, per face
};

}  // namespace vd
