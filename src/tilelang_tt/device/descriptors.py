"""Programs as the SDK's descriptors describe them: kernels, circular buffers, semaphores.

Names and fields follow ttnn's, so that a program for `ttnn.generic_op` reads the same here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum, IntFlag
from pathlib import Path
from typing import ClassVar

from tilelang_tt.arch import TILE
from tilelang_tt.device.cores import CoreCoord, CoreRangeSet, Cores, core_range_set
from tilelang_tt.device.memory import BufferType, DataType, Layout
from tilelang_tt.device.tensor import Tensor, in_l1
from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.runtime.program import ACCESSOR_RUNTIME, accessor_parts, accessor_words


class SourceKind(Enum):
    FILE_PATH = "path"
    SOURCE_CODE = "text"


class MathFidelity(Enum):
    LoFi = "LoFi"
    HiFi2 = "HiFi2"
    HiFi3 = "HiFi3"
    HiFi4 = "HiFi4"


class DataMovementProcessor(IntEnum):
    RISCV_0 = 0
    RISCV_1 = 1


class NOC(IntEnum):
    NOC_0 = 0
    NOC_1 = 1
    RISCV_0_default = 0
    RISCV_1_default = 1


class UnpackToDestMode(Enum):
    Default = "default"  # tiles of this buffer reach DST through a source register
    UnpackToDestFp32 = "fp32"  # copy_tile moves them to DST with all 32 bits


@dataclass(frozen=True)
class ReaderConfigDescriptor:
    """RISCV_1 on NoC 0."""

    processor: ClassVar[DataMovementProcessor] = DataMovementProcessor.RISCV_1
    noc: ClassVar[NOC] = NOC.NOC_0


@dataclass(frozen=True)
class WriterConfigDescriptor:
    """RISCV_0 on NoC 1."""

    processor: ClassVar[DataMovementProcessor] = DataMovementProcessor.RISCV_0
    noc: ClassVar[NOC] = NOC.NOC_1


@dataclass(frozen=True)
class DataMovementConfigDescriptor:
    processor: DataMovementProcessor = DataMovementProcessor.RISCV_0
    noc: NOC = NOC.RISCV_0_default


@dataclass(frozen=True)
class ComputeConfigDescriptor:
    math_fidelity: MathFidelity = MathFidelity.HiFi4
    fp32_dest_acc_en: bool = False
    dst_full_sync_en: bool = False
    math_approx_mode: bool = False
    # Per CB id: a sequence as in the SDK, or only those that differ from Default.
    unpack_to_dest_mode: Sequence[UnpackToDestMode] | Mapping[int, UnpackToDestMode] = ()


Config = ReaderConfigDescriptor | WriterConfigDescriptor | DataMovementConfigDescriptor | ComputeConfigDescriptor


class RuntimeArgs:
    """Arguments per core: `args[x][y] = [...]`, or `args.append(CoreCoord(x, y), [...])`."""

    def __init__(self) -> None:
        self.of_core: dict[CoreCoord, list[int]] = {}

    def append(self, core: tuple[int, int], values: Sequence[int]) -> None:
        self.of_core[CoreCoord(*core)] = list(values)

    def __getitem__(self, x: int) -> _Column:
        return _Column(self, x)


@dataclass(frozen=True)
class _Column:
    args: RuntimeArgs
    x: int

    def __setitem__(self, y: int, values: Sequence[int]) -> None:
        self.args.append((self.x, y), values)

    def __getitem__(self, y: int) -> list[int]:
        return self.args.of_core[CoreCoord(self.x, y)]


@dataclass(frozen=True)
class KernelBindings:
    """Names by which a kernel finds what it is given, instead of positions and ids; ProgramSpec has them in the SDK.

    args::rows    runtime and common runtime arguments in the order of their values, compile-time arguments with them
    dfb::in       a circular buffer      sem::done    a semaphore      tensor::src    an accessor with its address
    """

    runtime_args: Sequence[str] = ()  # unnamed ones may follow: get_vararg(0), get_vararg(1), ...
    common_runtime_args: Sequence[str] = ()
    compile_time_args: Mapping[str, int] = field(default_factory=dict)
    buffers: Mapping[str, int] = field(default_factory=dict)
    semaphores: Mapping[str, int] = field(default_factory=dict)
    tensors: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass
class KernelDescriptor:
    """One kernel on a set of cores; `kernel_source` is a path, or the text itself with SOURCE_CODE."""

    SourceType: ClassVar[type[SourceKind]] = SourceKind

    kernel_source: str | Path
    core_ranges: Cores
    config: Config
    source_type: SourceKind = SourceKind.FILE_PATH
    compile_time_args: Sequence[int] = ()
    named_compile_time_args: Sequence[tuple[str, int]] = ()
    defines: Sequence[tuple[str, str]] = ()
    runtime_args: RuntimeArgs | Sequence[tuple[CoreCoord, Sequence[int]]] = ()
    common_runtime_args: Sequence[int] = ()
    compiler_include_paths: Sequence[str | Path] = ()
    bindings: KernelBindings | None = None

    def args_by_core(self) -> dict[CoreCoord, Sequence[int]]:
        if isinstance(self.runtime_args, RuntimeArgs):
            return dict(self.runtime_args.of_core)
        return {CoreCoord(*core): values for core, values in self.runtime_args}


@dataclass(frozen=True)
class CBFormatDescriptor:
    """One name of a circular buffer: its id, number format (a DataType or a device format name), page size.

    `tile` are the rows and columns of a tile: 32 x 32, or fewer rows or 16 columns. `layout` is not in the SDK and
    matters in `exact` numerics alone: pages of rows keep their format there, while tiles hold 32-bit numbers. A page
    that is no whole number of tiles holds rows in any case.
    """

    buffer_index: int
    data_format: DataType | str
    page_size: int
    layout: Layout = Layout.TILE
    tile: tuple[int, int] = (TILE, TILE)

    @property
    def format(self) -> str:
        return self.data_format.value if isinstance(self.data_format, DataType) else self.data_format


@dataclass
class CBDescriptor:
    """L1 of every core in the range; several formats are several buffers over the same bytes.

    With `tensor` the bytes are the shard that the core holds of it, from `address_offset` on.
    """

    total_size: int
    core_ranges: Cores
    format_descriptors: Sequence[CBFormatDescriptor]
    tensor: Tensor | None = None
    address_offset: int = 0


def cb_descriptor_from_sharded_tensor(
    cb_index: int,
    tensor: Tensor,
    address_offset: int = 0,
    total_size: int = 0,
    core_ranges: CoreRangeSet | None = None,
) -> CBDescriptor:
    """A circular buffer whose pages are the core's shard of a tensor in L1: nothing is copied."""
    if not in_l1(tensor) or tensor.placement is None:
        raise ArgumentError("TT321", f"CB {cb_index}: tensor '{tensor.name}' is not sharded in L1")
    page = tensor.declared_page_size
    size = total_size or tensor.placement.slots * page - address_offset
    cores = core_ranges or core_range_set(tensor.placement.banks)
    one = CBFormatDescriptor(cb_index, tensor.dtype, page, tile=tensor.tile)
    return CBDescriptor(size, cores, [one], tensor, address_offset)


@dataclass(frozen=True)
class SemaphoreDescriptor:
    """A word in the L1 of every core in the range; kernels find it by `get_semaphore(id)`."""

    id: int
    core_ranges: Cores
    initial_value: int = 0


@dataclass
class ProgramDescriptor:
    kernels: Sequence[KernelDescriptor]
    semaphores: Sequence[SemaphoreDescriptor] = ()
    cbs: Sequence[CBDescriptor] = ()
    name: str = field(default="program")


class ArgConfig(IntFlag):
    """Which words that describe a sharded tensor are common runtime arguments (tensor_accessor::ArgConfig)."""

    NONE = 0
    RUNTIME_RANK = ACCESSOR_RUNTIME["rank"]
    RUNTIME_NUM_BANKS = ACCESSOR_RUNTIME["num_banks"]
    RUNTIME_TENSOR_SHAPE = ACCESSOR_RUNTIME["tensor_shape"]
    RUNTIME_SHARD_SHAPE = ACCESSOR_RUNTIME["shard_shape"]
    RUNTIME_BANK_COORDS = ACCESSOR_RUNTIME["bank_coords"]
    RUNTIME = RUNTIME_RANK | RUNTIME_NUM_BANKS | RUNTIME_TENSOR_SHAPE | RUNTIME_SHARD_SHAPE | RUNTIME_BANK_COORDS


class TensorAccessorArgs:
    """The words with which a kernel's `TensorAccessorArgs<n>()` finds a tensor's pages.

    All are compile-time arguments, but for those of a sharded tensor that `args_config` names.
    """

    def __init__(self, tensor: Tensor, args_config: ArgConfig = ArgConfig.NONE) -> None:
        self._tensor = tensor
        self._at_runtime = args_config if tensor.placement is not None else ArgConfig.NONE
        self._require(ArgConfig.RUNTIME_RANK, ArgConfig.RUNTIME_TENSOR_SHAPE | ArgConfig.RUNTIME_SHARD_SHAPE)
        self._require(ArgConfig.RUNTIME_NUM_BANKS, ArgConfig.RUNTIME_BANK_COORDS)

    def _require(self, one: ArgConfig, others: ArgConfig) -> None:
        if one in self._at_runtime and others not in self._at_runtime:
            raise ArgumentError("TT321", f"TensorAccessorArgs: {one.name} needs {others!s}, too")

    def _nodes(self) -> list[tuple[int, int]]:
        tensor, placement = self._tensor, self._tensor.placement
        assert placement is not None
        if tensor.memory_config.buffer_type is BufferType.DRAM:
            return [(bank.x, bank.y) for bank in placement.banks]
        cores = [tensor.device.worker_core_from_logical_core(bank) for bank in placement.banks]
        return [(core.x, core.y) for core in cores]

    def get_compile_time_args(self) -> list[int]:
        tensor, placement = self._tensor, self._tensor.placement
        dram = tensor.memory_config.buffer_type is BufferType.DRAM
        if placement is None:
            return accessor_words(tensor.buffer_page_size, dram=dram)
        return accessor_words(
            tensor.buffer_page_size,
            dram=dram,
            pages=placement.pages,
            shard=placement.shard,
            nodes=self._nodes(),
            at_runtime=int(self._at_runtime),
        )

    def get_common_runtime_args(self) -> list[int]:
        placement = self._tensor.placement
        if placement is None:
            return []
        parts = accessor_parts(placement.pages, placement.shard, self._nodes())
        return [word for name, part in parts.items() if self._at_runtime & ACCESSOR_RUNTIME[name] for word in part]
