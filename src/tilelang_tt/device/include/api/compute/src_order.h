// How two operands map onto the source registers.
#pragma once

#include "vd/compute.h"
