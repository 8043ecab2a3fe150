// The vector unit sorts columns: bitonic networks over the values of two tiles, whose indices go along.
//
// A column of tiles 0 and 1 is a sequence of 64 values, its indices are that column of tiles 2 and 3. Every exchange takes
// two places of all 32 columns. Numbers are ordered by sign and magnitude of their bits (-0 below 0, NaNs beyond infinity).
// What becomes of equal values follows from the instruction: one that puts the larger first leaves them alone, one that
// puts the smaller first by the reversed comparison exchanges them. A stable sort gives the instruction twice, which
// undoes the second kind.
#include <utility>

#include "kept.h"
#include "numerics.h"
#include "sfpu.h"

using namespace vd;

namespace {

constexpr uint32_t kPlaces = 64, kPlacesOfGroup = 16, kSequences = 32, kIndexTile = 2;

struct SortRule {
    bool smaller_first = false;
    bool ties_move = false;
};

int32_t sort_rank(uint32_t bits) { return static_cast<int32_t>((bits >> 31) != 0 ? bits ^ 0x7FFFFFFFu : bits); }

float& item(uint32_t first_tile, uint32_t place, uint32_t column) {
    return element(core->engine.section.dst[first_tile + place / 32], place % 32, column);
}

bool exchanges(int32_t first, int32_t second, SortRule rule) {
    if (!rule.smaller_first) return first < second;
    return rule.ties_move ? first >= second : first > second;
}

void exchange(uint32_t first, uint32_t second, SortRule rule) {
    if (device.numberless) return;
    for (uint32_t column = 0; column < kSequences; ++column) {
        float &a = item(0, first, column), &b = item(0, second, column);
        if (!exchanges(sort_rank(bits_of(a)), sort_rank(bits_of(b)), rule)) continue;
        std::swap(a, b);
        std::swap(item(kIndexTile, first, column), item(kIndexTile, second, column));
    }
}

// A bitonic run of `length` places becomes sorted.
void merge_run(uint32_t begin, uint32_t length, SortRule rule) {
    for (uint32_t distance = length / 2; distance > 0; distance /= 2) {
        for (uint32_t place = begin; place < begin + length; ++place) {
            if (((place - begin) & distance) == 0) exchange(place, place + distance, rule);
        }
    }
}

// One phase within groups of 16: runs of 2, 4, 8 or 16 places, sorted by turns the one way and the other.
void sort_in_groups(uint32_t phase, bool ascending, bool stable) {
    const uint32_t length = 2u << phase;
    for (uint32_t begin = 0; begin < kPlaces; begin += length) {
        const bool odd = (begin / length) % 2 != 0;
        const bool smaller_first = phase == 3 ? ascending != odd : odd;
        merge_run(begin, length, {smaller_first, !stable && phase > 0});  // pairs of phase 0 name their places the other way
    }
}

// A phase whose runs are longer than a group: steps over 32 and 16 places, then each group by itself.
void sort_across_groups(uint32_t phase, uint32_t first_step, uint32_t last_step, bool ascending, bool stable) {
    const uint32_t length = 2u << phase;
    const auto turned = [&](uint32_t place) { return ascending != (place >= length); };
    for (uint32_t step = first_step; step > last_step; --step) {
        const uint32_t distance = step == 5 ? 16 : 32;
        for (uint32_t place = 0; place < kPlaces; ++place) {
            if ((place & distance) == 0) exchange(place, place + distance, {turned(place), false});
        }
    }
    for (uint32_t begin = 0; begin < kPlaces; begin += kPlacesOfGroup) merge_run(begin, kPlacesOfGroup, {turned(begin), !stable});
}

void begin_sort(uint32_t dst, const char* name) {
    require_vector_unit(false, name);
    require_sfpu_init(Sfpu::TopK, name);
    if (dst != 0) undefined("%s from DST tile %u: it works on tiles 0 to 3", name, dst);
    for (uint32_t tile = 0; tile < 2 * kIndexTile; ++tile) {
        written_dst_tile(tile, name);
        core->engine.section.unused[tile] = true;
    }
    ++core->statistics.sfpu_tiles;
}

void require_length(uint32_t k, const char* name) {
    if (k < 4 || k > kPlaces || (k & (k - 1)) != 0) undefined("%s with k %u: 4, 8, 16, 32 or 64", name, k);
}

uint32_t at_most_32(uint64_t value) { return value > 32 ? 32 : static_cast<uint32_t>(value); }
uint32_t at_least(uint32_t a, uint32_t b) { return a > b ? a : b; }
uint32_t shifted(uint32_t value, uint32_t times) { return times < 32 ? value >> times : 0; }

}  // namespace

extern "C" {

void vd_topk_local_sort(uint32_t dst, bool ascending, uint32_t first_phase, uint32_t last_phase, uint32_t first_step,
                        uint32_t last_step, bool stable, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_topk_local_sort(dst, ascending, first_phase, last_phase, first_step, last_step,
                   stable, line); });
    note::work(note::Processor::Math, "sfpu", "topk_local_sort");
    begin_sort(dst, "topk_local_sort");
    if (last_phase > 5) undefined("topk_local_sort to phase %u: a column of two tiles has phases 0 to 5", last_phase);
    for (uint32_t phase = first_phase; phase <= last_phase; ++phase) {
        const bool alone = first_phase == last_phase;
        if (phase < 4) {
            sort_in_groups(phase, ascending, stable);
        } else {
            sort_across_groups(phase, alone ? first_step : phase + 1, alone ? last_step : 4, ascending, stable);
        }
    }
}

void vd_topk_merge(uint32_t dst, uint32_t round, uint32_t k, bool smallest, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_topk_merge(dst, round, k, smallest, line); });
    note::work(note::Processor::Math, "sfpu", "topk_merge");
    begin_sort(dst, "topk_merge");
    require_length(k, "topk_merge");
    const uint32_t length = at_most_32(k), distance = at_most_32(uint64_t{length} << (round < 16 ? round : 16));
    const uint32_t runs = at_least(shifted(kPlaces, round), 2 * length) / (2 * length);
    for (uint32_t run = 0; run < runs; ++run) {
        for (uint32_t i = 0; i < length; ++i) {
            exchange(run * 2 * distance + i, run * 2 * distance + i + distance, {smallest, false});
        }
    }
}

void vd_topk_rebuild(uint32_t dst, bool ascending, uint32_t round, uint32_t k, uint32_t log_k, bool first_alone,
                     bool stable, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_topk_rebuild(dst, ascending, round, k, log_k, first_alone, stable, line); });
    note::work(note::Processor::Math, "sfpu", "topk_rebuild");
    begin_sort(dst, "topk_rebuild");
    require_length(k, "topk_rebuild");
    if (1u << log_k != k) undefined("topk_rebuild with k %u and logk %u", k, log_k);
    if (k >= 32) return sort_across_groups(log_k - 1, log_k, 4, ascending, stable);
    const uint32_t distance = at_most_32(uint64_t{k} << (round < 16 ? round + 1 : 16));
    const uint32_t places = at_least(shifted(kPlaces, round + 1), 2 * k) >> static_cast<uint32_t>(first_alone);
    for (uint32_t done = 0, base = 0; done < places; done += kPlacesOfGroup, base += 32) {
        if (k == kPlacesOfGroup) {
            merge_run(base, k, {ascending != (base != 0), !stable});
            continue;
        }
        // Two runs fill a group, or four if they are short and none has been given up yet.
        const uint32_t runs = k == 4 && round < 2 ? 4 : 2;
        for (uint32_t run = 0; run < runs; ++run) merge_run(base + run * distance, k, {run % 2 != 0, !stable});
    }
}

}  // extern "C"
