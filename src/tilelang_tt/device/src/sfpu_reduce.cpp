// Reductions by the vector unit: a tile in DST, over its rows or its columns, with 32 bits.
#include <cstring>

#include "chip_vector.h"
#include "kept.h"
#include "numerics.h"
#include "sfpu.h"

using namespace vd;
using ckernel::PoolType;
using ckernel::ReduceDim;

namespace {

float plus(float a, float b) { return device.bit_true ? chip::add(a, b) : a + b; }

float pooled(PoolType pool, float left, float right) {
    if (pool == PoolType::MAX) return device.bit_true ? chip::larger_of(left, right) : right > left ? right : left;
    return device.bit_true ? chip::smaller_of(left, right) : right < left ? right : left;
}

// Sums in the order of the SDK: a register holds 4 rows by 8 columns, every other column of a face. Those of a line are
// added first, the last ones first; then what is left in the rows, or the columns, of one register.
float of_four(float a, float b, float c, float d) { return plus(a, plus(b, plus(c, d))); }

float column_sum(Tile& tile, uint32_t col) {
    float rows[4];
    for (uint32_t i = 0; i < 4; ++i) {
        float halves[2];
        for (uint32_t half = 0; half < 2; ++half) {
            const uint32_t row = 16 * half + i;
            halves[half] = of_four(element(tile, row, col), element(tile, row + 4, col), element(tile, row + 8, col),
                                   element(tile, row + 12, col));
        }
        rows[i] = plus(halves[0], halves[1]);
    }
    if (device.chip.blackhole) return of_four(rows[0], rows[1], rows[2], rows[3]);
    return plus(plus(rows[0], rows[1]), plus(rows[2], rows[3]));
}

float row_sum(Tile& tile, uint32_t row) {
    float lanes[8];
    for (uint32_t i = 0; i < 8; ++i) {
        lanes[i] = of_four(element(tile, row, 2 * i), element(tile, row, 2 * i + 1), element(tile, row, 16 + 2 * i),
                           element(tile, row, 17 + 2 * i));
    }
    for (uint32_t step = 4; step > 0; step /= 2) {
        for (uint32_t i = 0; i < step; ++i) lanes[i] = plus(lanes[i], lanes[i + step]);
    }
    return lanes[0];
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
    KEEP_OR_BEGIN(kMath, [=] { vd_sfpu_reduce(pool_number, dim, format_number, dst, line); });
    note::work(note::Processor::Math, "sfpu", "sfpu_reduce");
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
    const bool sums = !integers && (pool == PoolType::SUM || pool == PoolType::AVG);
    for (uint32_t i = 0; i < 32 && sums; ++i) {
        const float result = rows ? row_sum(tile, i) : column_sum(tile, i);
        (rows ? element(out, i, 0) : element(out, 0, i)) = pool == PoolType::AVG ? result * 0x1p-5f : result;
    }
    for (uint32_t i = 0; i < 32 && !sums; ++i) {
        float result = rows ? element(tile, i, 0) : element(tile, 0, i);
        for (uint32_t k = 1; k < 32; ++k) {
            const float value = rows ? element(tile, i, k) : element(tile, k, i);
            result = integers ? pooled_int(pool, result, value) : pooled(pool, result, value);
        }
        (rows ? element(out, i, 0) : element(out, 0, i)) = result;
    }
    tile = out;
    finish_sfpu(dst, integers ? Store::Bits : Store::Truncate);
}

}  // extern "C"
