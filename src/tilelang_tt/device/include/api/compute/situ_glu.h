// Not on this device: its names stop the run.
#pragma once

#include "vd/missing_names.h"
