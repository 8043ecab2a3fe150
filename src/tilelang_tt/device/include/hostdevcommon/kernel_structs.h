// tt::CBIndex and its kin.
#pragma once

#include "vd/kernel.h"
