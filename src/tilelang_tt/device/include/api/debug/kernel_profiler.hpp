#pragma once

#include "vd/profiler.h"
