// Fibers: a stack per kernel and a switch that saves the registers a function call must keep.
#include <sys/mman.h>

#include "fiber_notes.h"
#include "machine.h"

extern "C" void vd_switch(void** save, void* load);

#if defined(__x86_64__)
asm(R"(
.text
.globl vd_switch
vd_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl vd_switch
vd_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
)");
#else
#error "the virtual device's fiber switch knows x86-64 and AArch64 only"
#endif

namespace vd {
namespace {

constexpr std::size_t kStackBytes = 256 * 1024;
constexpr std::size_t kGuardBytes = 64 * 1024;  // below the stack: an overflow faults instead of corrupting

// First function of every fiber; never returns.
void fiber_main() {
    fiber_was_entered(*core, nullptr);
    core->group->kernels[static_cast<uint32_t>(fiber->role)].entry();
    finish_print(*fiber);
    note::end();
    check_noc_at_end();
    if (fiber->role == Role::Compute) check_engine_at_end();
    fiber->live = false;
    fiber->wait = Wait::None;
    for (;;) yield_to_scheduler();
}

}  // namespace

void prepare_fiber(Fiber& which) {
    if (!which.stack) {
        void* memory =
            mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) broken_input("no memory for a fiber stack");
        mprotect(memory, kGuardBytes, PROT_NONE);
        which.stack = static_cast<uint8_t*>(memory) + kGuardBytes;
    }
    fiber_is_new(which.notes, which.stack, kStackBytes);
    void** top = reinterpret_cast<void**>(static_cast<uint8_t*>(which.stack) + kStackBytes);
#if defined(__x86_64__)
    top -= 2;  // a return address at 16n + 8, as after a call
    *top = reinterpret_cast<void*>(fiber_main);
    which.stack_pointer = top - 6;
#else
    which.stack_pointer = reinterpret_cast<uint8_t*>(top) - 160;
    static_cast<void**>(which.stack_pointer)[11] = reinterpret_cast<void*>(fiber_main);  // x30
#endif
    which.live = true;
    which.line = 0;
    which.wait = Wait::None;
    which.reads.clear();
    which.writes.clear();
    which.polling = false;
    which.waiting = 0;
    which.carrying = which.at_a_stand = which.others_wait = false;
    which.arguments_placed[0] = which.arguments_placed[1] = false;
    forget_transfers(which);
}

void resume_fiber(Core& at, Fiber& which) {
    core = &at;
    fiber = &which;
    ++at.statistics.switches;
    at.stirred = true;
    const KernelConfig& kernel = at.group->kernels[static_cast<uint32_t>(which.role)];
    put_globals(kernel, which);
    leave_scheduler(at, which.notes);
    vd_switch(&at.scheduler_sp, which.stack_pointer);
    scheduler_was_entered(at);
    keep_globals(kernel, which);
    fiber = nullptr;
}

void yield_to_scheduler() {
    leave_fiber(*core, fiber->notes);
    vd_switch(&fiber->stack_pointer, core->scheduler_sp);
    fiber_was_entered(*core, fiber->notes.fake);
}

}  // namespace vd
