// Reversed operands: rsub.
#pragma once

#include "api/compute/eltwise_unary/rsub.h"
