// Pages of tiles of any shape, and how many rows of a tile of DST count.
#pragma once

#include "numerics.h"

namespace vd {

void require_whole_tile(uint32_t cb, const char* what);  // the SDK has the operation for tiles of 32 x 32
uint32_t tile_rows(uint32_t cb);                         // of an operand of compute

// A page of a buffer to a tile and back; rows that the page has not are zero.
void unpack_page(const CbConfig& config, const uint8_t* page, Cut cut, Tile& out);
void pack_page(const CbConfig& config, const Tile& tile, bool accumulate, uint8_t* page);

void mark_written_rows(uint32_t dst, uint32_t rows);
void limit_rows(uint32_t dst, uint32_t rows);  // an operand had no more
void require_rows(uint32_t dst, uint32_t cb);  // that the packer takes for this buffer

}  // namespace vd
