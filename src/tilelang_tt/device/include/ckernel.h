// Types and modes of the engines.
#pragma once

#include "vd/engine_types.h"
