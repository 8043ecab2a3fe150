"""Kernels that know arguments, buffers, semaphores and tensors by name, as those of the SDK's ProgramSpec do."""

from dataclasses import replace

import pytest
import torch

from tilelang_tt.device import (
    CBDescriptor,
    CBFormatDescriptor,
    ComputeConfigDescriptor,
    CoreCoord,
    CoreRange,
    DataType,
    KernelBindings,
    KernelDescriptor,
    MemoryConfig,
    ProgramDescriptor,
    ReaderConfigDescriptor,
    SemaphoreDescriptor,
    ShardSpec,
    Tensor,
    WriterConfigDescriptor,
    open_device,
)
from tilelang_tt.device.memory import BufferType, TensorMemoryLayout
from tilelang_tt.diagnostics import ArgumentError, DeviceError

READER = """
#include "api/dataflow/noc.h"
#include "api/semaphore.h"
#include "api/tensor/noc_traits.h"
#include "experimental/kernel_args.h"
void kernel_main() {
    constexpr uint32_t step = get_arg(args::step);
    const uint32_t first = get_arg(args::first);
    const auto source = TensorAccessor(tensor::source);
    Noc noc;
    DataflowBuffer in(dfb::in);
    for (uint32_t k = 0; k < get_arg(args::count); ++k) {
        in.reserve_back(1);
        noc.async_read(source, in, in.get_entry_size(), {.page_id = first + get_vararg(k) * step}, {});
        noc.async_read_barrier();
        in.push_back(1);
    }
    Semaphore<> done(sem::done);
    done.set(1);
}
"""
COMPUTE = """
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/tile_move_copy.h"
#include "api/compute/eltwise_unary/binop_with_scalar.h"
#include "api/dataflow/dataflow_buffer.h"
#include "experimental/kernel_args.h"
void kernel_main() {
    DataflowBuffer in(dfb::in), out(dfb::out);
    compute_kernel_hw_startup(dfb::in, dfb::out);
    copy_tile_to_dst_init_short(dfb::in);
    binop_with_scalar_tile_init();
    for (uint32_t k = 0; k < get_arg(args::count); ++k) {
        in.wait_front(1);
        tile_regs_acquire();
        copy_tile(dfb::in, 0, 0);
        mul_unary_tile(0, get_arg(args::factor));
        tile_regs_commit();
        in.pop_front(1);
        out.reserve_back(1);
        tile_regs_wait();
        pack_tile(0, dfb::out);
        tile_regs_release();
        out.push_back(1);
    }
}
"""
WRITER = """
#include "api/dataflow/noc.h"
#include "api/semaphore.h"
#include "api/tensor/noc_traits.h"
#include "experimental/kernel_args.h"
void kernel_main() {
    const auto target = TensorAccessor(tensor::target);
    const auto unused = TensorAccessor(tensor::source);
    Noc noc;
    DataflowBuffer out(dfb::out);
    for (uint32_t k = 0; k < get_arg(args::count); ++k) {
        out.wait_front(1);
        noc.async_write(out, target, out.get_entry_size(), {}, {.page_id = get_common_vararg(0) + k});
        noc.async_write_barrier();
        out.pop_front(1);
    }
    Semaphore<>(sem::done).wait(1);
}
"""
CORE = CoreRange((0, 0), (0, 0))
FACTOR = 0x40200000  # 2.5


def program(source: Tensor, target: Tensor, reader: str = READER, work: str = COMPUTE) -> ProgramDescriptor:
    def kernel(text: str, config: object, bindings: KernelBindings, **more: object) -> KernelDescriptor:
        return KernelDescriptor(
            text,
            CORE,
            config,  # type: ignore[arg-type]
            KernelDescriptor.SourceType.SOURCE_CODE,
            bindings=bindings,
            **more,  # type: ignore[arg-type]
        )

    read = KernelBindings(
        runtime_args=["first", "count"],
        compile_time_args={"step": 2},
        buffers={"in": 3},
        semaphores={"done": 1},
        tensors={"source": source},
    )
    compute = KernelBindings(runtime_args=["count"], common_runtime_args=["factor"], buffers={"in": 3, "out": 5})
    write = KernelBindings(
        runtime_args=["count"],
        buffers={"out": 5},
        semaphores={"done": 1},
        tensors={"source": source, "target": target},
    )
    core = CoreCoord(0, 0)
    return ProgramDescriptor(
        [
            kernel(reader, ReaderConfigDescriptor(), read, runtime_args=[(core, [1, 3, 2, 0, 1])]),
            kernel(
                work,
                ComputeConfigDescriptor(),
                compute,
                runtime_args=[(core, [3])],
                common_runtime_args=[FACTOR],
            ),
            kernel(WRITER, WriterConfigDescriptor(), write, runtime_args=[(core, [3])], common_runtime_args=[1]),
        ],
        [SemaphoreDescriptor(1, CORE)],
        [CBDescriptor(4096, CORE, [CBFormatDescriptor(cb, DataType.BFLOAT16, 2048)]) for cb in (3, 5)],
    )


SHARDED = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, ShardSpec(CoreRange((0, 0), (1, 0)), (96, 32)))


@pytest.mark.parametrize("memory", [MemoryConfig(), SHARDED], ids=["interleaved", "sharded"])
def test_names_stand_for_arguments_buffers_semaphores_and_tensors(memory: MemoryConfig) -> None:
    values = torch.randn(6 * 32, 32).to(torch.bfloat16)
    with open_device(grid=(2, 1)) as device:
        source = device.from_torch(values, memory_config=memory)
        target = device.from_torch(torch.zeros(4 * 32, 32).to(torch.bfloat16))
        device.run(program(source, target))
        got = target.to_torch().reshape(4, 32, 32)
    tiles = values.reshape(6, 32, 32).double()
    assert torch.equal(got[0], torch.zeros(32, 32).to(torch.bfloat16))
    for place, page in enumerate((1 + 2 * 2, 1, 1 + 2)):
        torch.testing.assert_close(got[place + 1].double(), tiles[page] * 2.5, rtol=2**-7, atol=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"runtime_args": ["first", "count", "first"]}, "'first' is no name of its own for a binding"),
        ({"buffers": {"in-0": 3}}, "'in-0' is no name of its own for a binding"),
        ({"common_runtime_args": ["factor"]}, "names 1 common runtime arguments and has 0"),
    ],
)
def test_refused_names(change: dict[str, object], message: str) -> None:
    with open_device() as device:
        tensor = device.from_torch(torch.zeros(192, 32).to(torch.bfloat16))
        wrong = program(tensor, tensor)
        reader = wrong.kernels[0]
        assert reader.bindings is not None
        reader.bindings = replace(reader.bindings, **change)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match=message):
            device.run(wrong)


def test_a_name_that_nobody_bound_does_not_compile() -> None:
    with open_device() as device:
        tensor = device.from_torch(torch.zeros(192, 32).to(torch.bfloat16))
        wrong = program(tensor, tensor)
        wrong.kernels[1].bindings = KernelBindings(buffers={"in": 3, "out": 5})
        with pytest.raises(DeviceError, match=r"error\[TT407\]: kernel compute.cpp does not compile"):
            device.run(wrong)


def as_entry(text: str, head: str, *named: str) -> str:
    """`kernel_main` as a function with parameters, which stand where arguments were fetched by name."""
    for name in named:
        text = text.replace(f"get_arg(args::{name})", name)
    return text.replace("void kernel_main()", head)


ENTRY = "template <uint32_t step>\nTT_KERNEL void read(uint32_t count, const uint32_t first)  // not TT_KERNEL twice\n"


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_entry_points_with_parameters(arch: str) -> None:
    reader = as_entry(READER, ENTRY, "count", "first", "step")
    reader = reader.replace("constexpr uint32_t step = step;", "").replace("const uint32_t first = first;", "")
    work = as_entry(COMPUTE, "TT_KERNEL void work(uint32_t count, uint32_t factor)", "count", "factor")
    assert "get_arg(" not in reader + work
    with open_device(arch) as device:
        source = device.from_torch(torch.randn(6 * 32, 32).bfloat16())
        expected, target = (device.from_torch(torch.zeros(4 * 32, 32).bfloat16()) for _ in range(2))
        device.run(program(source, expected))
        device.run(program(source, target, reader, work))
        assert torch.equal(target.to_torch(), expected.to_torch())
        assert bool(target.to_torch().any())


REFUSED_ENTRIES = {
    "TT_KERNEL void read(uint32_t count, uint32_t first)": "template parameters of read are none; its compile-time",
    "template <uint32_t step>\nTT_KERNEL void read(uint32_t count)": "parameters of read are count; its runtime",
    "template <uint32_t step>\nTT_KERNEL void read(int count)": "'int count' is no parameter of a TT_KERNEL",
    "TT_KERNEL int read()": "TT_KERNEL marks one function",
}


@pytest.mark.parametrize("head", REFUSED_ENTRIES)
def test_entry_points_that_do_not_fit_the_bindings(head: str) -> None:
    with open_device() as device:
        tensor = device.from_torch(torch.zeros(6 * 32, 32).bfloat16())
        wrong = program(tensor, tensor, as_entry(READER, head))
        with pytest.raises(ArgumentError) as caught:
            device.run(wrong)
    assert REFUSED_ENTRIES[head] in str(caught.value)
