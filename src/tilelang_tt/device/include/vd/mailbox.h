// Words from one processor of a core to another: not on this device.
#pragma once

#include "vd/kernel.h"

namespace ckernel {

enum ThreadId : uint32_t { UnpackThreadId, MathThreadId, PackThreadId, BriscThreadId };

ALWI uint32_t mailbox_read(uint8_t, VD_LINE) { vd_unimplemented("mailbox_read", line); }
ALWI void mailbox_write(uint8_t, uint32_t, VD_LINE) { vd_unimplemented("mailbox_write", line); }

}  // namespace ckernel
