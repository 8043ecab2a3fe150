// Attributes of pointers into L1.
#pragma once

#include "vd/kernel.h"
