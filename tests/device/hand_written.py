"""Short ways to describe hand-written programs in tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
