// Notes for the clock: what each call of a kernel did, on which processor. One line in every function that kernels call;
// how long things take is not known here (clock/replay.h).
#pragma once

#include "clock/library.h"
#include "machine.h"
#include "vd/noc_abi.h"

namespace vd {

namespace note {

using timing::Kind;
using timing::Processor;

extern bool on;

void buffer(Kind kind, uint32_t cb, uint32_t pages);
void dst(Kind kind);
// What one processor does by itself: "init.copy", say; the name of the processor is put before it.
void work(Processor on, const char* name, const char* variant = "", const char* detail = "", uint32_t calls = 1);
void configure(const char* name);  // an init, on unpack and math
void reconfigure();                // of a source register's format
void startup();
// Tiles that go through the source registers.
void copy(uint32_t cb);
void operands(const char* name, uint32_t cb, const char* variant = "");  // unpack's part
void math(const char* name, const char* variant = "", const char* detail = "");  // math's part
void matmul(uint32_t in0, uint32_t in1, uint32_t ct, uint32_t rt);
void pack(uint32_t cb);
void tiles(uint32_t in, uint32_t out, uint32_t count, uint32_t sections, const char* unpack, const char* pack);
void sfpu(const SfpuCall& call, const char* name);
void transfer(Kind kind, uint32_t local, uint64_t address, uint32_t bytes, const VdHow& how);
void word(uint64_t address, uint32_t value, bool add, const VdHow& how);
void write(uint32_t source, uint64_t target, uint32_t bytes, const VdHow& how);
void multicast(Place first, Place last, uint32_t offset, uint32_t bytes, const uint8_t* source, const VdHow& how);
void multicast_add(Place first, Place last, uint32_t offset, uint32_t value, const VdHow& how);
void barrier(Kind kind, uint32_t noc, int32_t trid);
void polled(uint32_t changes);  // a read of a semaphore is done, which had changed so often
void await_word(uint32_t offset, uint32_t value, bool at_least);
void set_word(uint32_t offset, uint32_t before, uint32_t value);
void zone(const char* name, bool begins);
void argument();  // a load from L1, by every processor of the kernel
void vector_operations(uint32_t count);  // of SFPI code, on whatever processor runs it
void end();

const char* fidelity();  // of the launch, as part of a name
const char* dst_width();

}  // namespace note

void begin_clock();  // of a launch
bool clock_streams();      // events are replayed as they come, and not kept
uint64_t noted_events();   // since the launch began, where they are streamed
bool hand_over_batch();    // to the replay, which works on it meanwhile; false: all has been replayed
void end_clock();
const GrowingText& clock_reports();  // of all launches, as JSON; empty without a clock
void load_clock(const char* library, const char* record, const char* setup);

}  // namespace vd
