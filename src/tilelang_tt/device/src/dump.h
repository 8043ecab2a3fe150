// What the buffers and DST of the core that runs hold, for the report of a run that stops there.
#pragma once

#include "machine.h"
#include "report_text.h"

namespace vd {

void put_state(Text& text);

}  // namespace vd
