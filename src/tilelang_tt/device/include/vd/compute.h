// Base of every compute header: the three thread macros and the modes of the kernel.
//
// On the chip one source is compiled for the unpack, math and pack processors; here one fiber runs all
// three in program order, so every guarded expression is executed.
#pragma once

#include "vd/cb_interface.h"
#include "vd/engine_types.h"
#include "vd/min_max.h"
#include "vd/kernel.h"
#include "vd/whose.h"

constexpr bool DST_ACCUM_MODE = VD_FP32_DEST_ACC;
constexpr bool APPROX = VD_MATH_APPROX;
#define DST_SYNC_MODE (VD_DST_FULL_SYNC ? ckernel::DstSync::SyncFull : ckernel::DstSync::SyncHalf)  // kernels ask for it
constexpr auto MATH_FIDELITY = ckernel::MathFidelity::VD_MATH_FIDELITY;

enum class SrcOrder : uint8_t { Regular = 0, Reverse = 1 };

namespace ckernel {
using ::SrcOrder;
using std::uint32_t;

enum class DstRoundingMode : uint8_t { Default = 0, NearestEven = 1 };
enum class RoundingMode : uint8_t { None = 0, Trunc = 1, Floor = 2 };
enum class DataLayout : uint8_t { TILE = 0, ROW_MAJOR = 1 };
enum class ReluType : uint8_t { NO_RELU = 0, ZERO_RELU, MIN_THRESHOLD_RELU, MAX_THRESHOLD_RELU };

struct ReluConfig {
    ReluType mode;
    uint32_t threshold;

    static constexpr ReluConfig none() { return {ReluType::NO_RELU, 0}; }
    static constexpr ReluConfig zero() { return {ReluType::ZERO_RELU, 0}; }
    static constexpr ReluConfig min_threshold(uint32_t bits) { return {ReluType::MIN_THRESHOLD_RELU, bits}; }
    static constexpr ReluConfig max_threshold(uint32_t bits) { return {ReluType::MAX_THRESHOLD_RELU, bits}; }
    static constexpr ReluConfig from_packed(uint32_t word) {
        return {static_cast<ReluType>(word & 3), (word >> 16) & 0xFFFF};
    }
    constexpr ReluType get_mode() const { return mode; }
    constexpr uint32_t get_threshold() const { return threshold; }
};

}  // namespace ckernel
using namespace ckernel;

namespace vd {

constexpr uint32_t number(ckernel::EltwiseBinaryType type) {
    return static_cast<uint32_t>(type == ckernel::EltwiseBinaryType::ELWADD   ? Binary::Add
                                 : type == ckernel::EltwiseBinaryType::ELWSUB ? Binary::Sub
                                                                              : Binary::Mul);
}
constexpr uint32_t number(ckernel::BroadcastType type) {
    return static_cast<uint32_t>(type == ckernel::BroadcastType::NONE  ? Broadcast::None
                                 : type == ckernel::BroadcastType::ROW ? Broadcast::Rows
                                 : type == ckernel::BroadcastType::COL ? Broadcast::Cols
                                                                       : Broadcast::Scalar);
}

}  // namespace vd

#include "vd/llk.h"
#include "vd/llk_sfpu.h"
#include "vd/processors.h"
