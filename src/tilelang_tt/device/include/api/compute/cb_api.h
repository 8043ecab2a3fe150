// Circular buffer calls of compute kernels: wait and pop belong to unpack, reserve and push to pack.
#pragma once

#include "vd/compute.h"
#include "vd/missing_names.h"
