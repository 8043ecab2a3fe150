// Stops for a debugger; there is none here.
#pragma once

#define DEBUG_CHECKPOINT(...)
#define DEBUG_CHECKPOINT_EX(...)
#define DEBUG_CHECKPOINT_GLOBAL(...)
