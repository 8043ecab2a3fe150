// A stop for the debugger; there is none here.
#pragma once

#define PAUSE()
