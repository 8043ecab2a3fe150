// Random numbers of the vector unit: their distribution is the chip's, their sequence is this device's own.
#include "kept.h"
#include "numerics.h"
#include "sfpu.h"

using namespace vd;

namespace {

// SplitMix64: every seed, also 0, gives a sequence of full period.
uint64_t next_random(uint64_t& state) {
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

}  // namespace

extern "C" {

void vd_random_init(uint32_t op, uint32_t seed, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_random_init(op, seed, line); });
    const SfpuCall call{static_cast<Sfpu>(op), 0, {}, {}};
    vd_sfpu_init(&call, line);
    core->engine.random = seed;
}

// from + u * scale with u in [0, 1].
void vd_rand_tile(uint32_t dst, uint32_t from, uint32_t scale, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_rand_tile(dst, from, scale, line); });
    note::work(note::Processor::Math, "sfpu", "rand_tile");
    require_vector_unit(false, "rand_tile");
    require_sfpu_init(Sfpu::Rand, "rand_tile");
    float* to = &dst_tile(dst).at[0][0][0];
    for (uint32_t i = 0; i < kTileElements; ++i) {
        const float unit = static_cast<float>(next_random(core->engine.random) >> 40) * 0x1p-24f;
        to[i] = float_of(from) + unit * float_of(scale);
    }
    finish_sfpu(dst, Store::Truncate);
}

// Zero with a probability that is given in units of 2^-31, else the element times the scale.
void vd_dropout_tile(uint32_t dst, uint32_t probability, uint32_t scale, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_dropout_tile(dst, probability, scale, line); });
    note::work(note::Processor::Math, "sfpu", "dropout_tile");
    require_vector_unit(false, "dropout_tile");
    require_sfpu_init(Sfpu::Dropout, "dropout_tile");
    float* at = &written_dst_tile(dst, "dropout_tile").at[0][0][0];
    for (uint32_t i = 0; i < kTileElements; ++i) {
        const bool keep = static_cast<uint32_t>(next_random(core->engine.random) >> 33) >= probability;
        at[i] = keep ? at[i] * float_of(scale) : 0.0f;
    }
    finish_sfpu(dst, Store::Truncate);
}

}  // extern "C"
