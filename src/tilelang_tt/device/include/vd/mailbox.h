// Words from one processor of a core to another. RISCV_0 and compute's three each have a queue to each; RISCV_1 has none.
#pragma once

#include "vd/kernel.h"

namespace ckernel {

enum ThreadId : uint8_t { BriscThreadId = 0, UnpackThreadId = 1, MathThreadId = 2, PackThreadId = 3 };

// `whose` is one of compute's processors, or 0 where nothing says which (whose.h). A data movement kernel has but one.
ALWI uint32_t vd_read_mail(uint32_t whose, uint8_t from, VD_LINE) { return vd_mailbox_read(whose, from, line); }
ALWI bool vd_has_mail(uint32_t whose, uint8_t from, VD_LINE) { return vd_mailbox_has(whose, from, line); }
ALWI void vd_write_mail(uint32_t whose, uint8_t to, uint32_t word, VD_LINE) { vd_mailbox_write(whose, to, word, line); }

ALWI uint32_t mailbox_read(uint8_t from, VD_LINE) { return vd_mailbox_read(0, from, line); }
ALWI bool mailbox_not_empty(uint8_t from, VD_LINE) { return vd_mailbox_has(0, from, line); }
ALWI void mailbox_write(uint8_t to, uint32_t word, VD_LINE) { vd_mailbox_write(0, to, word, line); }

}  // namespace ckernel
