// Constants of the NoC and the parts of its addresses.
#pragma once

#include "vd/noc.h"
