"""Mutable globals of kernels: every core has its own, and every run begins with fresh ones."""

import pytest
import torch

from tilelang_tt.device import (
    CBDescriptor,
    CBFormatDescriptor,
    CoreCoord,
    CoreRange,
    DataType,
    KernelDescriptor,
    Layout,
    ProgramDescriptor,
    ReaderConfigDescriptor,
    SemaphoreDescriptor,
    TensorAccessorArgs,
    WriterConfigDescriptor,
    open_device,
)

# Both kernels have a global of the same name. The reader fills pages with what it counts, and gives way in between.
READER = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
uint32_t calls;
static uint32_t table[4] = {10, 20, 30, 40};
uint32_t* const where = &table[1];

inline uint32_t next() {
    static uint32_t step = get_arg_val<uint32_t>(0);
    calls += step;
    ++*where;
    return calls + table[1] * 1000;
}

void kernel_main() {
    for (uint32_t page = 0; page < 4; ++page) {
        cb_reserve_back(0, 1);
        auto* words = reinterpret_cast<volatile uint32_t*>(get_write_ptr(0));
        for (uint32_t i = 0; i < 8; ++i) words[i] = next();
        cb_push_back(0, 1);
    }
}
"""
WRITER = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
uint32_t calls = 7;

void kernel_main() {
    constexpr auto args = TensorAccessorArgs<0>();
    const auto target = TensorAccessor(args, get_arg_val<uint32_t>(0));
    for (uint32_t page = 0; page < 4; ++page) {
        cb_wait_front(0, 1);
        noc_async_write(get_read_ptr(0), target.get_noc_addr(get_arg_val<uint32_t>(1) * 4 + calls++ - 7), 32);
        noc_async_write_barrier();
        cb_pop_front(0, 1);
    }
}
"""


@pytest.mark.parametrize("connected", [False, True])
def test_every_core_and_every_run_has_its_own(connected: bool) -> None:
    cores = CoreRange((0, 0), (2, 1))
    text = KernelDescriptor.SourceType.SOURCE_CODE
    with open_device(grid=(3, 2)) as device:
        target = device.from_torch(torch.zeros(24, 8, dtype=torch.int32), DataType.UINT32, Layout.ROW_MAJOR)
        places = [CoreCoord(x, y) for y in range(2) for x in range(3)]
        program = ProgramDescriptor(
            [
                KernelDescriptor(
                    READER, cores, ReaderConfigDescriptor(), text, runtime_args=[(at, [at.x + 1]) for at in places]
                ),
                KernelDescriptor(
                    WRITER,
                    cores,
                    WriterConfigDescriptor(),
                    text,
                    TensorAccessorArgs(target).get_compile_time_args(),
                    runtime_args=[(at, [target.buffer_address(), at.y * 3 + at.x]) for at in places],
                ),
            ],
            [SemaphoreDescriptor(0, cores)] if connected else [],
            [CBDescriptor(64, cores, [CBFormatDescriptor(0, DataType.UINT32, 32)])],
        )
        count = torch.arange(1, 33)
        want = torch.stack([count * (at.x + 1) + (20 + count) * 1000 for at in places]).reshape(24, 8)
        for _ in range(2):
            device.run(program)
            assert torch.equal(target.to_torch().long(), want)
