// `chip` numerics: the matrix engine and the packer, bit by bit. numerics.h says what each function means.
#pragma once

#include "numerics.h"

namespace vd {
namespace chip {

void multiply_tile(Tile& dst, const Tile& left, const Tile& right, bool dst_is_zero);
void add_elements(Tile& dst, const Tile& a, const Tile& b, bool subtract, bool accumulate);
void multiply_elements(Tile& dst, const Tile& a, const Tile& b, bool accumulate);
void reduce_sum(Tile& dst, const Tile& data, float scaler, ReduceAxis axis, DataFormat format, bool dst_is_zero);
void reduce_max(Tile& dst, const Tile& data, ReduceAxis axis, DataFormat format, bool dst_is_zero);

// Packer accumulation in L1 for Float32 and Float16_b pages; `packed` is the tile in the page's format.
void accumulate_page(DataFormat format, const uint8_t* packed, uint8_t* page);

}  // namespace chip
}  // namespace vd
