// `chip` numerics: the chips' arithmetic, bit by bit. numerics.h says what each function of the matrix engine means.
//
// They are a library of their own (chip_*.cpp), which the runner loads when a run asks for them: whoever wants the other
// two modes need not wait for its build.
#pragma once

#include "chip_vector.h"
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

// What the runner calls.
struct Library {
    decltype(chip::multiply_tile)* multiply_tile;
    decltype(chip::add_elements)* add_elements;
    decltype(chip::multiply_elements)* multiply_elements;
    decltype(chip::reduce_sum)* reduce_sum;
    decltype(chip::reduce_max)* reduce_max;
    decltype(chip::accumulate_page)* accumulate_page;
    decltype(chip::vector_function)* vector_function;
    decltype(chip::variant_of)* variant_of;
};

extern const Library* library;  // nullptr in the other modes

}  // namespace chip
}  // namespace vd
