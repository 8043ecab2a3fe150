// Data formats.
#pragma once

#include "vd/kernel.h"
