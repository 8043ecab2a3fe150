// x + sin(alpha x)^2 / beta.
#pragma once

#include "vd/sfpu.h"

namespace ckernel {

VD_INIT(snake_beta_tile_init, SnakeBeta)
VD_TERNARY(snake_beta_tile, SnakeBeta)

}  // namespace ckernel
