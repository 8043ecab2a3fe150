// Coordinates and the cache.
#pragma once

#include "vd/noc.h"
