"""Mailboxes: words between RISCV_0, unpack, math and pack. Four under way from each; who finds none waits."""

from __future__ import annotations

import pytest
import torch
from hand_written import COMPUTE, COMPUTE_HEADERS, DATAFLOW, READER, STREAM_OUT, WRITER, cb, kernel, random, words
from reports import category_of

from tilelang_tt.device import (
    NOC,
    DataMovementConfigDescriptor,
    DataMovementProcessor,
    Device,
    ProgramDescriptor,
    open_device,
)
from tilelang_tt.diagnostics import DeviceError

ARCHS = ("wormhole_b0", "blackhole")
READ_IN = (
    DATAFLOW
    + """
void kernel_main() {
    constexpr auto args = TensorAccessorArgs<0>();
    const auto in = TensorAccessor(args, get_arg_val<uint32_t>(0));
    for (uint32_t page = 0; page < 4; ++page) {
        cb_reserve_back(0, 1);
        noc_async_read_page(page, in, get_write_ptr(0));
        noc_async_read_barrier();
        cb_push_back(0, 1);
    }
}
"""
)
# Tells unpack, math and pack for each of eight rounds whether there is a page; math gets what it multiplies by as well.
SEND = """
    for (uint32_t round = 0; round < 8; ++round) {
        const uint32_t valid = round % 2;
        ckernel::mailbox_write(ckernel::ThreadId::UnpackThreadId, valid);
        ckernel::mailbox_write(ckernel::ThreadId::MathThreadId, valid);
        ckernel::mailbox_write(ckernel::ThreadId::PackThreadId, valid);
        if (valid) ckernel::mailbox_write(ckernel::ThreadId::MathThreadId, 1u << round);
    }
"""
RECEIVE = (
    COMPUTE_HEADERS
    + """
#include "api/compute/eltwise_unary/eltwise_unary.h"
#include "api/compute/eltwise_unary/binop_with_scalar.h"

void kernel_main() {
    compute_kernel_hw_startup(0, 0, 16);
    copy_tile_to_dst_init_short(0);
    binop_with_scalar_tile_init();
    for (uint32_t round = 0; round < 8; ++round) {
        bool valid = false;
        uint32_t times = 0;
        UNPACK(valid = (bool)mailbox_read(ckernel::ThreadId::BriscThreadId);)
        MATH(valid = (bool)ckernel::mailbox_read(ckernel::ThreadId::BriscThreadId);)
        PACK({ valid = (bool)mailbox_read(ckernel::ThreadId::BriscThreadId); })
        if (!valid) continue;
        MATH((times = mailbox_read(ckernel::ThreadId::BriscThreadId)));
        cb_wait_front(0, 1);
        cb_reserve_back(16, 1);
        tile_regs_acquire();
        copy_tile(0, 0, 0);
        const float factor = static_cast<float>(times);
        uint32_t bits;
        __builtin_memcpy(&bits, &factor, sizeof bits);
        mul_unary_tile(0, bits);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile(0, 16);
        tile_regs_release();
        cb_pop_front(0, 1);
        cb_push_back(16, 1);
    }
}
"""
)


def run(device: Device, compute: str, send: str = "") -> torch.Tensor:
    """RISCV_0 has the mail and writes results; RISCV_1 reads."""
    values = random(64, 64)
    source, out = device.from_torch(values), device.allocate_tensor((64, 64))
    writer = STREAM_OUT.replace("void kernel_main() {", "void kernel_main() {" + send)
    device.run(
        ProgramDescriptor(
            [
                kernel(READ_IN, READER, args=[source.buffer_address()], compile_args=words(source)),
                kernel(compute, COMPUTE),
                kernel(writer, WRITER, args=[out.buffer_address(), 0, 4], compile_args=words(out),
                       named_compile_time_args=[("cb", 16)]),
            ],
            cbs=[cb(0, 2), cb(16, 4)],
        )
    )  # fmt: skip
    return out.to_torch()


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("arch", ARCHS)
def test_each_processor_reads_its_own_words(arch: str, seed: int) -> None:
    with open_device(arch, seed=seed) as device:
        got = run(device, RECEIVE, SEND)
    times = torch.tensor([2.0, 8.0, 32.0, 128.0]).reshape(2, 1, 2, 1).expand(2, 32, 2, 32).reshape(64, 64)
    assert torch.equal(got, (random(64, 64).float() * times).bfloat16())


PLAIN = """
    for (uint32_t round = 0; round < 4; ++round) {
        cb_wait_front(0, 1);
        cb_reserve_back(16, 1);
        tile_regs_acquire();
        copy_tile(0, 0, 0);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile(0, 16);
        tile_regs_release();
        cb_pop_front(0, 1);
        cb_push_back(16, 1);
    }
"""


def compute_with(words_of_mail: str) -> str:
    start = "    compute_kernel_hw_startup(0, 0, 16);\n    copy_tile_to_dst_init_short(0);\n"
    return COMPUTE_HEADERS + "void kernel_main() {\n" + start + words_of_mail + PLAIN + "}\n"


AMONG_THEMSELVES = """
    uint32_t sum = 0;
    UNPACK(for (uint32_t i = 1; i < 4; ++i) { mailbox_write(MathThreadId, i); mailbox_write(PackThreadId, 10 * i); })
    for (uint32_t i = 0; i < 3; ++i) {
        MATH(sum += mailbox_read(UnpackThreadId);)
        PACK({ sum += mailbox_read(UnpackThreadId); })
    }
    MATH(mailbox_write(BriscThreadId, sum);)
    ASSERT(sum == 66);
"""
ANSWER = "\n    ASSERT(ckernel::mailbox_read(ckernel::ThreadId::MathThreadId) == 66);\n"


@pytest.mark.parametrize("seed", [0, 1])
def test_compute_sends_more_than_its_mailboxes_hold(seed: int) -> None:
    """Six words from unpack: it stands at the fifth until math or pack has read one."""
    headers = '#include "api/debug/assert.h"\n'
    with open_device(seed=seed) as device:
        got = run(device, headers + compute_with(AMONG_THEMSELVES), ANSWER)
    assert torch.equal(got, random(64, 64))


def failure(compute: str, send: str = "") -> DeviceError:
    with open_device() as device, pytest.raises(DeviceError) as caught:
        run(device, compute, send)
    return caught.value


def test_nobody_writes() -> None:
    error = failure(compute_with("MATH((void)mailbox_read(BriscThreadId);)"))
    assert error.code == "TT404"
    assert "waits in mailbox_read: RISCV_0 has written nothing to math that it has not read" in "\n".join(error.notes)


def test_nobody_reads() -> None:
    send = "\n    for (uint32_t i = 0; i < 5; ++i) ckernel::mailbox_write(ckernel::ThreadId::PackThreadId, i);\n"
    error = failure(compute_with(""), send)
    assert error.code == "TT404"
    assert "waits in mailbox_write: the mailboxes of RISCV_0 hold 4 words that nobody has read" in "\n".join(
        error.notes
    )


def test_words_left_at_the_end() -> None:
    error = failure(compute_with(""), "\n    ckernel::mailbox_write(ckernel::ThreadId::PackThreadId, 1);\n")
    assert category_of(error) == "mailbox"
    assert "at the end pack has not read 1 words of RISCV_0" in str(error)


def test_riscv_1_has_no_mailboxes() -> None:
    reader = DATAFLOW + "void kernel_main() { ckernel::mailbox_write(ckernel::ThreadId::MathThreadId, 1); }"
    with open_device() as device, pytest.raises(DeviceError) as caught:
        device.run(ProgramDescriptor([kernel(reader, READER)]))
    assert category_of(caught.value) == "mailbox"


def test_a_reader_on_riscv_0_has_them() -> None:
    """What counts is the processor, not which way data go."""
    config = DataMovementConfigDescriptor(processor=DataMovementProcessor.RISCV_0, noc=NOC.NOC_0)
    send = DATAFLOW + "void kernel_main() { ckernel::mailbox_write(ckernel::ThreadId::MathThreadId, 1); }"
    take = COMPUTE_HEADERS + "void kernel_main() { MATH(ASSERT(mailbox_read(BriscThreadId) == 1);) }"
    with open_device() as device:
        device.run(ProgramDescriptor([kernel(send, config), kernel('#include "api/debug/assert.h"\n' + take, COMPUTE)]))


@pytest.mark.parametrize(
    ("mail", "reason"),
    [
        ("(void)mailbox_read(BriscThreadId);", "mailbox_read that does not stand in UNPACK(), MATH() or PACK()"),
        (
            "PACK((void)mailbox_read(MathThreadId);) MATH(mailbox_write(PackThreadId, 1);)",
            "a mailbox_read of a word that the text writes further down",
        ),
    ],
)
def test_what_cannot_be_told_stops_by_name(mail: str, reason: str) -> None:
    error = failure(compute_with(mail), SEND)
    assert error.code == "TT402"
    assert reason in str(error)
