// Reductions by the vector unit: a tile in DST, over its rows or its columns, with 32 bits.
#include <cstring>

#include "numerics.h"
#include "sfpu.h"

using namespace vd;
using ckernel::PoolType;
using ckernel::ReduceDim;

namespace {

float pooled(PoolType pool, float left, float right) {
    if (pool == PoolType::MAX) return right > left ? right : left;
    if (pool == PoolType::MIN) return right < left ? right : left;
    return left + right;
}

float pooled_int(PoolType pool, float left, float right) {
    const int32_t a = static_cast<int32_t>(bits_of(left)), b = static_cast<int32_t>(bits_of(right));
    if (pool == PoolType::MAX) return b > a ? right : left;
    if (pool == PoolType::MIN) return b < a ? right : left;
    return float_of(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

}  // namespace

extern "C" {

// Results stand in row 0 (REDUCE_COL) or column 0 (REDUCE_ROW); the rest of the tile is not a number.
void vd_sfpu_reduce(uint32_t pool_number, uint32_t dim, uint32_t format_number, uint32_t dst, uint32_t line) {
    enter(line);
    const PoolType pool = static_cast<PoolType>(pool_number);
    const DataFormat format = static_cast<DataFormat>(format_number);
    const bool rows = static_cast<ReduceDim>(dim) == ReduceDim::REDUCE_ROW;
    require_vector_unit(false, "sfpu_reduce");
    require_sfpu_init(Sfpu::Reduce, "sfpu_reduce");
    const SfpuCall& init = core->engine.sfpu;
    if (init.param[0] != pool_number || init.format != format) {
        breach("init-mismatch", "sfpu_reduce after sfpu_reduce_init of another pool or format");
    }
    const bool integers = format == DataFormat::Int32;
    if (!integers && format != DataFormat::Float32 && format != DataFormat::Float16_b) {
        vd_unimplemented("sfpu_reduce of unsigned formats", line);
    }
    if (pool == PoolType::AVG && (rows || integers)) vd_unimplemented("sfpu_reduce AVG of rows or integers", line);
    Tile& tile = written_dst_tile(dst, "sfpu_reduce");
    Tile out;
    std::memset(&out, 0xFF, sizeof out);
    for (uint32_t i = 0; i < 32; ++i) {
        float result = rows ? element(tile, i, 0) : element(tile, 0, i);
        for (uint32_t k = 1; k < 32; ++k) {
            const float value = rows ? element(tile, i, k) : element(tile, k, i);
            result = integers ? pooled_int(pool, result, value) : pooled(pool, result, value);
        }
        (rows ? element(out, i, 0) : element(out, 0, i)) = pool == PoolType::AVG ? result * 0x1p-5f : result;
    }
    tile = out;
    finish_sfpu(dst, integers ? Store::Bits : Store::Truncate);
}

}  // extern "C"
