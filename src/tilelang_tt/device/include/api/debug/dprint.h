// DPRINT("x = {}\n", x): format checked as the SDK does, text shown when TILELANG_TT_DPRINT is set.
#pragma once

#include "vd/print.h"
