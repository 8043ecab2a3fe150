// Sizes of a tile and its faces.
#pragma once

#include <cstdint>

namespace tt::constants {

constexpr uint32_t TILE_HEIGHT = 32, TILE_WIDTH = 32, TILE_HW = TILE_HEIGHT * TILE_WIDTH;
constexpr uint32_t FACE_HEIGHT = 16, FACE_WIDTH = 16, FACE_HW = FACE_HEIGHT * FACE_WIDTH;
constexpr uint32_t BFLOAT8_B_TILE_HW = 1088, BFLOAT4_B_TILE_HW = 576;  // bytes

}  // namespace tt::constants
