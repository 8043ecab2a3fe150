// Numerics: how bytes become numbers and back, and how the matrix engine adds.
//
// This is the one place where `fast`, `exact` and a future bit-equal `chip` mode differ.
// fast:  storage formats and their roundings at unpack and pack as on the chip, sums in plain fp32.
// exact: every buffer is Float32 and nothing is cut; rounding happens when the host stores the result.
#pragma once

#include "machine.h"

namespace vd {

// Bits of an fp32 number that survive the way into SrcA / SrcB.
enum class Cut : uint8_t { None, Tf32, Bf16 };

Cut source_cut();  // of the running launch

// Unpack: one page of `format` to fp32 in face order. Whole 32-bit words pass `cut`.
void unpack_tile(DataFormat format, const uint8_t* page, Cut cut, Tile& out);

// Pack: fp32 in face order to one page; with `accumulate`, adds to what the page holds.
void pack_tile(DataFormat format, const Tile& tile, bool accumulate, uint8_t* page);

// Matrix engine: dst (+)= a * b. A 16-bit DST rounds after every 16 products.
void multiply_tile(Tile& dst, const Tile& a, const Tile& b, bool dst_is_zero, bool dst_16bit);

// Mantissa bits that the multipliers see at the launch's math fidelity. LoFi uses 5 bits of SrcA and 7 of SrcB
// (leading one included), HiFi2 all of SrcA, HiFi3 and HiFi4 all of both.
void cut_to_fidelity(Tile& tile, bool srca);

void transpose_in_place(Tile& tile);
void round_to_16bit_dst(Tile& tile);         // matrix engine: half away from zero
void truncate_to_16bit_dst(Tile& tile);      // vector unit, most operations
void nearest_even_to_16bit_dst(Tile& tile);  // vector unit, operations that round in software

}  // namespace vd
