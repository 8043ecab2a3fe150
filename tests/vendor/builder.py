"""What every operator's host script shares: kernels by their path in the wheel, buffers by number, cores in rows."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from tests.vendor.wheel import OPERATIONS, include_paths

from tilelang_tt.device import (
    CBDescriptor,
    CBFormatDescriptor,
    ComputeConfigDescriptor,
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    DataMovementConfigDescriptor,
    DataType,
    Device,
    KernelBindings,
    KernelDescriptor,
    ProgramDescriptor,
    ReaderConfigDescriptor,
    RunReport,
    SemaphoreDescriptor,
    Tensor,
    TensorAccessorArgs,
    WriterConfigDescriptor,
)
from tilelang_tt.runtime.formats import tile_bytes

Config = ReaderConfigDescriptor | WriterConfigDescriptor | DataMovementConfigDescriptor | ComputeConfigDescriptor
Args = Sequence[int]
INACTIVE = 0xFFFFFFFF  # the id of a buffer that a configuration does without


def float_bits(value: float) -> int:
    """float32 as a word."""
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def bfloat16_pair(value: float) -> int:
    """Two bfloat16, both this value (cut, not rounded: callers pass powers of two and the like)."""
    high = float_bits(value) >> 16
    return high << 16 | high


def accessor(tensor: Tensor | None) -> list[int]:
    """Compile-time words of an accessor; an absent tensor has those of DRAM pages of no size, as in the SDK."""
    return TensorAccessorArgs(tensor).get_compile_time_args() if tensor else [2, 0]


def address(tensor: Tensor | None) -> int:
    return tensor.buffer_address() if tensor else 0


def grid(width: int, height: int) -> CoreRangeSet:
    return CoreRangeSet([CoreRange((0, 0), (width - 1, height - 1))])


@dataclass(frozen=True)
class Outcome:
    """What the kernels gave, what it should be (float64), and how far each element may be off."""

    got: torch.Tensor
    wanted: torch.Tensor
    bound: torch.Tensor

    def error(self) -> torch.Tensor:
        return (self.got.double() - self.wanted).abs().nan_to_num(nan=torch.inf)

    def right(self) -> bool:
        return bool((self.error() <= self.bound).all())


@dataclass
class Program:
    """A ProgramDescriptor in the making."""

    device: Device
    root: Path
    name: str
    cores: CoreRangeSet
    cbs: list[CBDescriptor] = field(default_factory=list)
    kernels: list[KernelDescriptor] = field(default_factory=list)
    semaphores: list[SemaphoreDescriptor] = field(default_factory=list)

    def buffer(
        self,
        number: int,
        pages: int,
        data_format: DataType,
        *,
        page: int | None = None,
        cores: CoreRangeSet | None = None,
        on: Tensor | None = None,
        tile: tuple[int, int] = (32, 32),
    ) -> int:
        """A circular buffer of tiles, or of pages of `page` bytes; `on` puts it on the shards of a tensor."""
        size = page or tile_bytes(data_format.value, tile)
        one = CBFormatDescriptor(number, data_format, size, tile=tile)
        self.cbs.append(CBDescriptor(pages * size, cores or self.cores, [one], on))
        return number

    def next_buffer(self, pages: int, data_format: DataType, *, page: int | None = None) -> int:
        return self.buffer(len(self.cbs), pages, data_format, page=page)

    def semaphore(self, initial: int = 0, cores: CoreRangeSet | None = None) -> int:
        number = len(self.semaphores)
        self.semaphores.append(SemaphoreDescriptor(number, cores or self.cores, initial))
        return number

    def kernel(
        self,
        path: str,
        config: Config,
        compile_time_args: Args = (),
        runtime_args: Mapping[CoreCoord, Args] | None = None,
        *,
        defines: Mapping[str, str | int] | None = None,
        named: Mapping[str, int] | None = None,
        common: Args = (),
        cores: CoreRangeSet | None = None,
        bindings: KernelBindings | None = None,
        includes: Sequence[Path] = (),
    ) -> None:
        """`path` is below `ttnn/cpp/ttnn/operations`, or absolute."""
        where = cores or self.cores
        given = runtime_args or {}
        self.kernels.append(
            KernelDescriptor(
                self.root / OPERATIONS / path,
                where,
                config,
                compile_time_args=list(compile_time_args),
                named_compile_time_args=list((named or {}).items()),
                defines=[(name, str(value)) for name, value in (defines or {}).items()],
                runtime_args=[(core, given[core]) for core in where if core in given],
                common_runtime_args=list(common),
                compiler_include_paths=[*include_paths(self.root), *includes],
                bindings=bindings,
            )
        )

    def descriptor(self) -> ProgramDescriptor:
        return ProgramDescriptor(self.kernels, self.semaphores, self.cbs, self.name)

    def run(self) -> RunReport:
        return self.device.run(self.descriptor())
