// Base of the compute API.
#pragma once

#include "vd/compute.h"
