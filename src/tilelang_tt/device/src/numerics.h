// Numerics: how bytes become numbers and back, and how the engines add, multiply and round.
//
// This is the one place where the modes differ; an operation's file says *what* is computed and calls these.
// fast:  storage formats and their roundings at unpack and pack as on the chip, sums in plain fp32.
// exact: every buffer is Float32 and nothing is cut; rounding happens when the host stores the result.
// chip:  bit-equal to recorded results of the chip (tests/numerics): chip_*.cpp.
#pragma once

#include "machine.h"

namespace vd {

// ---- between L1, the source registers and DST ------------------------------------------------------

// What survives of an fp32 number on the way into SrcA / SrcB. The matrix engine takes NaNs for numbers beyond infinity
// (Tf32Nan keeps their bits for `chip`); `fast` makes them infinite when they come in (Tf32).
enum class Cut : uint8_t { None, Tf32, Tf32Nan, Bf16 };

Cut source_cut();    // of the running launch
bool dst_is_16bit();  // DST rounds to bf16 in this launch

// Unpack: one page of `format` to fp32 in face order. Whole 32-bit words pass `cut`.
void unpack_tile(DataFormat format, const uint8_t* page, Cut cut, Tile& out);

// A tile that was unpacked through SrcA with source_cut() and is copied to DST: a 32-bit DST has no NaN.
void source_to_dst(Tile& tile);

// A DST tile that goes back to SrcA or SrcB (dest reuse); `operand` is the format of the CB on the other side.
void dst_to_source(const Tile& dst, DataFormat operand, Tile& out);

// Pack: fp32 in face order to one page; with `accumulate`, adds to what the page holds.
void pack_tile(DataFormat format, const Tile& tile, bool accumulate, uint8_t* page);

// ---- matrix engine: operands as unpacked with source_cut(), results as DST holds them ---------------

// dst (+)= left * right: `left` is in0 (SrcB), `right` is in1 (SrcA), both after cut_to_fidelity.
void multiply_tile(Tile& dst, const Tile& left, const Tile& right, bool dst_is_zero);

// Mantissa bits that the multipliers see at the launch's math fidelity. LoFi uses 5 bits of SrcA and 7 of SrcB
// (leading one included), HiFi2 all of SrcA, HiFi3 and HiFi4 all of both. `chip` does this inside its products.
void cut_to_fidelity(Tile& tile, bool srca);

// dst = a + b or a - b; with `accumulate`, dst += that. `a` is in SrcA, `b` in SrcB.
void add_elements(Tile& dst, const Tile& a, const Tile& b, bool subtract, bool accumulate);
// dst = a * b; with `accumulate`, dst += that.
void multiply_elements(Tile& dst, const Tile& a, const Tile& b, bool accumulate);

enum class ReduceAxis : uint8_t { Row, Col, Scalar };
// One reduce_tile: dst (+)= scaler * sum of `data`, in column 0 / row 0 / element (0, 0). Elements outside that are
// left alone: the packer masks them. REDUCE_SCALAR multiplies by the scaler twice, as the chip does.
void reduce_sum(Tile& dst, const Tile& data, float scaler, ReduceAxis axis, DataFormat format, bool dst_is_zero);
// The same with the maximum of dst (unless it is zero after acquire) and `data`.
void reduce_max(Tile& dst, const Tile& data, ReduceAxis axis, DataFormat format, bool dst_is_zero);

// ---- vector unit: fp32 arithmetic, then the way into a 16-bit DST -----------------------------------

void truncate_to_16bit_dst(Tile& tile);      // most operations
void nearest_even_to_16bit_dst(Tile& tile);  // operations that round in software

void transpose_in_place(Tile& tile);
void round_to_16bit_dst(Tile& tile);  // matrix engine in `fast`: half away from zero

}  // namespace vd
