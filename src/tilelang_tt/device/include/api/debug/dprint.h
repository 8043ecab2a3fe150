// DPRINT("x = {}\n", x): format checked as the SDK does, text shown when TILELANG_TT_DPRINT is set.
#pragma once

#include "api/debug/dprint_tile.h"
#include "vd/print.h"
