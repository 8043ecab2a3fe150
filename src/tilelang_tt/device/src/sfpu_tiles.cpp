// Vector-unit operations that look beyond one element: copies, broadcasts, running sums and transposes inside DST.
#include <algorithm>

#include "chip_vector.h"
#include "kept.h"
#include "numerics.h"
#include "sfpu.h"

using namespace vd;

extern "C" {

// Copies of floats lose denormals: what the store instruction does.
void vd_copy_dest(uint32_t from, uint32_t to, bool floats, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_copy_dest(from, to, floats, line); });
    note::work(note::Processor::Math, "sfpu", "copy_dest_values");
    require_vector_unit(false, "copy_dest_values");
    require_sfpu_init(Sfpu::CopyDest, "copy_dest_values");
    const Tile& source = dst_rows(from, "copy_dest_values");
    dst_tile(to) = source;
    if (floats && device.bit_true) {
        float* elements = &dst_tile(to).at[0][0][0];
        std::transform(elements, elements + kTileElements, elements, chip::flushed);
    }
    finish_sfpu(to, Store::Bits);
    core->engine.section.reduced[to] = core->engine.section.reduced[from];
    core->engine.section.rows[to] = core->engine.section.rows[from];
    if (const UnwrittenPage* row = first_row_alone(from)) mark_first_row(to, *row);
}

void vd_bcast_in_dst(uint32_t op_number, bool column, uint32_t data, uint32_t vector, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_bcast_in_dst(op_number, column, data, vector, line); });
    note::work(note::Processor::Math, "sfpu", "bcast_in_dst");
    const Binary op = static_cast<Binary>(op_number);
    const char* name = column ? "sfpu_*_bcast_col" : "sfpu_*_bcast_row";
    require_vector_unit(false, name);
    require_sfpu_init(column ? Sfpu::BcastCol : Sfpu::BcastRow, name);
    Tile& tile = column ? written_dst_tile(data, name) : dst_rows(data, name);
    Tile right = column ? written_dst_tile(vector, name) : dst_rows(vector, name);
    const bool first_row = first_row_alone(data) != nullptr;
    broadcast_in_place(column ? Broadcast::Cols : Broadcast::Rows, 0, right);
    float* to = &tile.at[0][0][0];
    const float* from = &right.at[0][0][0];
    for (uint32_t i = 0; i < kTileElements; ++i) {
        const float a = to[i], b = from[i];
        if (device.bit_true) {
            to[i] = op == Binary::Add ? chip::add(a, b) : op == Binary::Sub ? chip::sub(a, b) : chip::mul(a, b);
        } else {
            to[i] = op == Binary::Add ? a + b : op == Binary::Sub ? a - b : a * b;
        }
    }
    finish_sfpu(data, Store::Truncate);
    if (first_row) core->engine.section.tiles[data] = DstTile::FirstRow;
}

void vd_cumsum(uint32_t dst, bool first, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_cumsum(dst, first, line); });
    note::work(note::Processor::Math, "sfpu", "cumsum_tile");
    require_vector_unit(false, "cumsum_tile");
    require_sfpu_init(Sfpu::Cumsum, "cumsum_tile");
    Tile& tile = written_dst_tile(dst, "cumsum_tile");
    auto& running = core->engine.running;
    if (first) std::memset(running, 0, sizeof running);
    for (uint32_t row = 0; row < 32; ++row) {
        for (uint32_t half = 0; half < 2; ++half) {
            float* at = tile.at[(row / kFace) * 2 + half][row % kFace];
            for (uint32_t col = 0; col < kFace; ++col) at[col] = running[half][col] += at[col];
        }
    }
    finish_sfpu(dst, Store::Truncate);
}

// The matrix engine does this, not the vector unit: its init takes the place of another such operation's.
void vd_transpose_dest_init(bool faces, bool words, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_transpose_dest_init(faces, words, line); });
    note::work(note::Processor::Math, "init", "transpose_dest");
    begin_family(Family::TransposeDest, "transpose_dest_init");
    core->engine.transpose = (faces ? 1u : 0u) | (words ? 2u : 0u);
}

void vd_transpose_dest(uint32_t dst, bool faces, bool words, uint32_t line) {
    KEEP_OR_BEGIN(kMath, [=] { vd_transpose_dest(dst, faces, words, line); });
    note::work(note::Processor::Math, "sfpu", "transpose_dest");
    require_math("transpose_dest");
    require_family(Family::TransposeDest, "transpose_dest", "transpose_dest_init");
    if (core->engine.transpose != ((faces ? 1u : 0u) | (words ? 2u : 0u))) {
        breach("init-mismatch", "transpose_dest of another element size or of other faces than its init");
    }
    if (!faces) vd_unimplemented("transpose_dest of the faces alone", line);
    transpose_in_place(written_dst_tile(dst, "transpose_dest"));
}

}  // extern "C"
