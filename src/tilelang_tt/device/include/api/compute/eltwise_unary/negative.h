// -x.
#pragma once

#include "vd/sfpu.h"

VD_SFPU_INIT(negative_tile_init, Negative)
VD_SFPU_UNARY(negative_tile, Negative)
