"""Short ways to describe hand-written programs in tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from tilelang_tt.device import (
    CBDescriptor,
    CBFormatDescriptor,
    ComputeConfigDescriptor,
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    DataMovementConfigDescriptor,
    DataType,
    KernelDescriptor,
    ProgramDescriptor,
    ReaderConfigDescriptor,
    Tensor,
    TensorAccessorArgs,
    WriterConfigDescriptor,
)

READER = ReaderConfigDescriptor()
WRITER = WriterConfigDescriptor()
COMPUTE = ComputeConfigDescriptor()
ONE_CORE = CoreRangeSet([CoreRange((0, 0), (0, 0))])

DATAFLOW = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
"""
COMPUTE_HEADERS = """
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/tile_move_copy.h"
"""


def kernel(
    text: str,
    config: ReaderConfigDescriptor | WriterConfigDescriptor | DataMovementConfigDescriptor | ComputeConfigDescriptor,
    cores: CoreRangeSet = ONE_CORE,
    *,
    args: Mapping[CoreCoord, Sequence[int]] | Sequence[int] = (),
    compile_args: Sequence[int] = (),
    **more: object,
) -> KernelDescriptor:
    """A kernel from its text; `args` of a sequence are the same on every core."""
    of_core = args if isinstance(args, Mapping) else dict.fromkeys(cores, args)
    return KernelDescriptor(
        text,
        cores,
        config,
        KernelDescriptor.SourceType.SOURCE_CODE,
        compile_time_args=list(compile_args),
        runtime_args=list(of_core.items()),
        **more,  # type: ignore[arg-type]
    )


def cb(number: int, pages: int, dtype: DataType = DataType.BFLOAT16, cores: CoreRangeSet = ONE_CORE) -> CBDescriptor:
    size = dtype.format.page_bytes
    return CBDescriptor(pages * size, cores, [CBFormatDescriptor(number, dtype, size)])


def words(*tensors: Tensor) -> list[int]:
    return [word for tensor in tensors for word in TensorAccessorArgs(tensor).get_compile_time_args()]


STREAM_IN = (
    DATAFLOW
    + """
void kernel_main() {
    const uint32_t first = get_arg_val<uint32_t>(1), count = get_arg_val<uint32_t>(2);
    constexpr auto args = TensorAccessorArgs<0>();
    const auto in = TensorAccessor(args, get_arg_val<uint32_t>(0));
    for (uint32_t page = first; page < first + count; ++page) {
        cb_reserve_back(0, 1);
        noc_async_read_page(page, in, get_write_ptr(0));
        noc_async_read_barrier();
        cb_push_back(0, 1);
    }
}
"""
)
STREAM_OUT = (
    DATAFLOW
    + """
void kernel_main() {
    const uint32_t first = get_arg_val<uint32_t>(1), count = get_arg_val<uint32_t>(2);
    constexpr uint32_t cb = get_named_compile_time_arg_val("cb");
    constexpr auto args = TensorAccessorArgs<0>();
    const auto out = TensorAccessor(args, get_arg_val<uint32_t>(0));
    for (uint32_t page = first; page < first + count; ++page) {
        cb_wait_front(cb, 1);
        noc_async_write_page(page, out, get_read_ptr(cb));
        noc_async_writes_flushed();
        cb_pop_front(cb, 1);
    }
    noc_async_write_barrier();
}
"""
)


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).bfloat16()


def relative_error(got: torch.Tensor, want: torch.Tensor) -> float:
    return float((got.double() - want.double()).norm() / want.double().norm())


def copy_program(
    source: Tensor, out: Tensor, cores: CoreRangeSet, shares: dict[CoreCoord, list[int]]
) -> ProgramDescriptor:
    """Pages through one buffer; no compute kernel."""
    return ProgramDescriptor(
        [
            kernel(
                STREAM_IN,
                READER,
                cores,
                args={core: [source.buffer_address(), *share] for core, share in shares.items()},
                compile_args=words(source),
            ),
            kernel(
                STREAM_OUT,
                WRITER,
                cores,
                args={core: [out.buffer_address(), *share] for core, share in shares.items()},
                compile_args=words(out),
                named_compile_time_args=[("cb", 0)],
            ),
        ],
        cbs=[cb(0, 3, source.dtype, cores)],
    )
