// max(x, 0).
#pragma once

#include "vd/sfpu.h"

VD_SFPU_INIT(relu_tile_init, Relu)
VD_SFPU_UNARY(relu_tile, Relu)
