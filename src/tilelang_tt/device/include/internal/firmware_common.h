// Attributes and helpers of the firmware.
#pragma once

#include "vd/kernel.h"
