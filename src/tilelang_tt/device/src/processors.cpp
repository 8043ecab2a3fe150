// Semaphores between unpack, math and pack. Whose a call is is not known, so they are called in the order of the text: a wait
// holds when the text has posted before; otherwise a chip might go on where this device cannot.
#include "machine.h"

namespace vd {
namespace {

ProcessorSemaphore& semaphore_at(uint32_t index) {
    if (index >= kProcessorSemaphores) breach("semaphore", "semaphore %u of the compute processors: there are 8", index);
    return core->engine.processor_semaphores[index];
}

}  // namespace
}  // namespace vd

using namespace vd;

extern "C" {

void vd_processor_semaphore_init(uint32_t index, uint32_t value, uint32_t most, uint32_t line) {
    enter(line);
    semaphore_at(index) = {value, most};
}

// At its maximum a semaphore stays as it is; so does one at zero that is taken.
void vd_processor_semaphore_post(uint32_t index, uint32_t line) {
    enter(line);
    ProcessorSemaphore& semaphore = semaphore_at(index);
    const uint32_t most = semaphore.most == 0 ? 1 : semaphore.most;
    if (semaphore.value == most) {
        breach("semaphore", "semaphore %u of the compute processors is posted at its maximum of %u: the post is lost",
               index, most);
    }
    ++semaphore.value;
}

void vd_processor_semaphore_get(uint32_t index, uint32_t line) {
    enter(line);
    ProcessorSemaphore& semaphore = semaphore_at(index);
    if (semaphore.value == 0) {
        breach("semaphore", "semaphore %u of the compute processors is taken, but nothing was posted", index);
    }
    --semaphore.value;
}

void vd_processor_semaphore_wait(uint32_t index, bool while_full, uint32_t line) {
    enter(line);
    const ProcessorSemaphore& semaphore = semaphore_at(index);
    const bool waits = while_full ? semaphore.value >= semaphore.most : semaphore.value == 0;
    if (waits) vd_unimplemented("a wait for a semaphore of another compute processor that the text posts later", line);
}

}  // extern "C"
