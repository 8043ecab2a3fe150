// What comes before what, in launches whose cores talk to each other.
//
// A schedule shows one order of events; a kernel may rely only on what semaphores and circular buffers enforce. Every
// kernel keeps a clock: for each kernel of the launch, up to which of its moments it is known to have come. A signal
// carries the clock of its sender, and a wait that passes takes it over. Two uses of one place, one of them a write, must
// be ordered by these clocks; that a schedule happened to run them one after the other is not enough.
#pragma once

#include "machine.h"
#include "vd/noc_abi.h"

namespace vd {

void begin_order(uint32_t cores);  // before a connected launch
void end_order();

// Kernels of one core meet at their circular buffers.
void order_push(uint32_t cb);
void order_wait(uint32_t cb);
void order_pop(uint32_t cb);
void order_reserve(uint32_t cb);

// And at their mailboxes: who writes says what it knows, who reads learns it.
void order_mail_written(uint32_t from, uint32_t to);
void order_mail_read(uint32_t from, uint32_t to);

// Transfers.
Stamp stamp_of_issue();                // what the flight carries
void order_arrival(Flight& flight);    // as it reaches the L1 of a core
void order_remote_read(const Core& from);
void order_l1_use(uint32_t offset, uint32_t bytes, const char* how);  // of the own L1
void order_tensor_read(const Span& far, uint32_t bytes);
void order_tensor_write(const Span& far, uint32_t bytes, const VdHow& how);
void order_write_barrier(uint32_t noc, int32_t trid);

// Semaphores.
void order_set(uint32_t offset, uint32_t value);
void order_passed(uint32_t offset);
void order_saw(uint32_t offset, uint32_t value);  // a wait for this value, no other, has passed
void order_value_gone(const Flight& flight, uint32_t before, uint32_t now);  // a signal has replaced a semaphore's value
void order_poll();  // a kernel looked at its L1 in a way that is not seen: it may know all that has arrived

}  // namespace vd
