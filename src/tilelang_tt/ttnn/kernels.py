"""Kernels of a program: where they run, on which processor, with which arguments."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import ClassVar

from tilelang_tt import device as virtual
from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.runtime.program import L1Address
from tilelang_tt.ttnn.cores import CoreCoord, CoreRangeSet
from tilelang_tt.ttnn.devices import missing_attribute
from tilelang_tt.ttnn.memory import not_offered
from tilelang_tt.ttnn.values import NOC, NOC_MODE, DataMovementProcessor, MathFidelity, UnpackToDestMode

_ROOTS = ("TT_METAL_KERNEL_PATH", "TT_METAL_RUNTIME_ROOT", "TT_METAL_HOME")  # where the SDK looks for kernels


class VectorUInt32(list[int]):
    """32-bit words. ttnn takes no others, and no negative numbers."""

    def __init__(self, values: Iterable[int] = ()) -> None:
        super().__init__(_word(value) for value in values)

    def append(self, value: int) -> None:
        super().append(_word(value))

    def extend(self, values: Iterable[int]) -> None:
        super().extend(_word(value) for value in values)


def _word(value: int) -> int:
    if not hasattr(value, "__index__") or not 0 <= value < 1 << 32:
        raise ArgumentError("TT321", f"{value!r} is no argument of a kernel: ttnn takes 0 .. {(1 << 32) - 1}")
    return value if isinstance(value, L1Address) else int(value)


class ReaderConfigDescriptor:
    """RISCV_1 on NoC 0."""

    def native(self) -> virtual.ReaderConfigDescriptor:
        return virtual.ReaderConfigDescriptor()


class WriterConfigDescriptor:
    """RISCV_0 on NoC 1."""

    def native(self) -> virtual.WriterConfigDescriptor:
        return virtual.WriterConfigDescriptor()


@dataclass(slots=True)
class DataMovementConfigDescriptor:
    processor: DataMovementProcessor = DataMovementProcessor.RISCV_0
    noc: NOC = NOC.RISCV_0_default
    noc_mode: NOC_MODE = NOC_MODE.DM_DEDICATED_NOC

    def native(self) -> virtual.DataMovementConfigDescriptor:
        if self.noc_mode is not NOC_MODE.DM_DEDICATED_NOC:
            raise not_offered("NOC_MODE.DM_DYNAMIC_NOC")
        processor = virtual.DataMovementProcessor(int(self.processor))
        return virtual.DataMovementConfigDescriptor(processor, virtual.NOC(int(self.noc)))


@dataclass(slots=True)
class ComputeConfigDescriptor:
    math_fidelity: MathFidelity = MathFidelity.HiFi4
    math_approx_mode: bool = False
    fp32_dest_acc_en: bool = False
    dst_full_sync_en: bool = False
    bfp8_pack_precise: bool = False
    unpack_to_dest_mode: Sequence[UnpackToDestMode] = field(default_factory=list)

    def native(self) -> virtual.ComputeConfigDescriptor:
        if self.bfp8_pack_precise:
            raise not_offered("bfp8_pack_precise")
        return virtual.ComputeConfigDescriptor(
            virtual.MathFidelity[self.math_fidelity.name],
            self.fp32_dest_acc_en,
            self.dst_full_sync_en,
            self.math_approx_mode,
            [virtual.UnpackToDestMode[mode.name] for mode in self.unpack_to_dest_mode],
        )


Config = ReaderConfigDescriptor | WriterConfigDescriptor | DataMovementConfigDescriptor | ComputeConfigDescriptor


class RuntimeArgs:
    """Arguments per core: `args[x][y] = [...]`, `args.append(core, [...])`."""

    def __init__(self, pairs: Iterable[tuple[CoreCoord, Iterable[int]]] = ()) -> None:
        self._of_core: dict[CoreCoord, VectorUInt32] = {}
        for core, values in pairs:
            self.append(core, values)

    def append(self, coord: CoreCoord | Sequence[int], values: Iterable[int]) -> None:
        core = coord if isinstance(coord, CoreCoord) else CoreCoord(coord)
        self._of_core[core] = VectorUInt32(values)

    def __getitem__(self, x: int) -> RuntimeArgsColProxy:
        return RuntimeArgsColProxy(self, x)

    def __len__(self) -> int:
        return len(self._of_core)

    def __iter__(self) -> Iterator[tuple[CoreCoord, VectorUInt32]]:
        return iter(self._of_core.items())

    def get(self, idx: int) -> tuple[CoreCoord, VectorUInt32]:
        return self.to_list()[idx]

    def to_list(self) -> list[tuple[CoreCoord, VectorUInt32]]:
        return list(self._of_core.items())

    def clear(self) -> None:
        self._of_core.clear()


@dataclass(frozen=True)
class RuntimeArgsColProxy:
    """The arguments of a column of cores."""

    args: RuntimeArgs
    x: int

    def __setitem__(self, y: int, values: Iterable[int]) -> None:
        self.args.append(CoreCoord(self.x, y), values)

    def __getitem__(self, y: int) -> VectorUInt32:
        try:
            return self.args._of_core[CoreCoord(self.x, y)]
        except KeyError:
            raise IndexError(f"No runtime args found for CoreCoord({self.x}, {y})") from None

    def append(self, y: int, value: int) -> None:
        self[y].append(value)

    def extend(self, y: int, values: Iterable[int]) -> None:
        self[y].extend(values)


def _runtime_args(given: RuntimeArgs | Sequence[object]) -> RuntimeArgs:
    """A copy of what a kernel is given: RuntimeArgs, pairs of core and words, or `[x][y]` lists of older releases."""
    if isinstance(given, RuntimeArgs):
        return RuntimeArgs(given)
    args = RuntimeArgs()
    for x, item in enumerate(given):
        if not isinstance(item, Sequence):
            raise ArgumentError("TT321", f"runtime_args: {item!r} is neither (core, words) nor a column of words")
        if isinstance(item, tuple) and len(item) == 2:
            args.append(*item)
            continue
        for y, words in enumerate(item):
            if words:
                args.append(CoreCoord(x, y), words)
    return args


class SourceKind(Enum):
    FILE_PATH = 0
    SOURCE_CODE = 1


@dataclass
class KernelDescriptor:
    SourceType: ClassVar[type[SourceKind]] = SourceKind

    kernel_source: str = ""
    source_type: SourceKind = SourceKind.FILE_PATH
    core_ranges: CoreRangeSet = field(default_factory=CoreRangeSet)
    compile_time_args: Sequence[int] = ()
    named_compile_time_args: Sequence[tuple[str, int]] = ()
    defines: Sequence[tuple[str, str]] = ()
    runtime_args: RuntimeArgs | Sequence[object] = ()
    common_runtime_args: Sequence[int] = ()
    opt_level: None = None
    config: Config = field(default_factory=ReaderConfigDescriptor)
    compiler_include_paths: Sequence[str] = ()

    def __setattr__(self, name: str, value: object) -> None:
        """What is assigned is copied, and checked as ttnn does."""
        if name not in self.__dataclass_fields__:
            raise missing_attribute(self, name)
        if name in ("compile_time_args", "common_runtime_args"):
            value = VectorUInt32(value)  # type: ignore[arg-type]
        elif name == "runtime_args":
            value = _runtime_args(value)  # type: ignore[arg-type]
        elif name == "opt_level" and value is not None:
            raise not_offered("opt_level: the virtual device builds kernels its own way")
        elif name == "core_ranges" and not isinstance(value, CoreRangeSet):
            raise ArgumentError("TT321", f"core_ranges is {value!r}; ttnn takes a CoreRangeSet")
        object.__setattr__(self, name, value)

    def clear_runtime_args(self) -> None:
        self.runtime_args = RuntimeArgs()

    def extend_runtime_args_uniform(self, values: Sequence[int]) -> None:
        """The same further arguments for every core that has some."""
        assert isinstance(self.runtime_args, RuntimeArgs)
        for _, words in self.runtime_args:
            words.extend(values)

    def native(self) -> virtual.KernelDescriptor:
        text = self.source_type is SourceKind.SOURCE_CODE
        source, roots = (self.kernel_source, ()) if text else _found(self.kernel_source)
        assert isinstance(self.runtime_args, RuntimeArgs)
        return virtual.KernelDescriptor(
            source,
            self.core_ranges.native(),
            self.config.native(),
            virtual.SourceKind.SOURCE_CODE if text else virtual.SourceKind.FILE_PATH,
            compile_time_args=self.compile_time_args,
            named_compile_time_args=[(name, _word(value)) for name, value in self.named_compile_time_args],
            defines=self.defines,
            runtime_args=[(core.native(), words) for core, words in self.runtime_args],
            common_runtime_args=self.common_runtime_args,
            compiler_include_paths=(*self.compiler_include_paths, *roots),
        )


def _found(source: str) -> tuple[str, tuple[str, ...]]:
    """The kernel's file, and the SDK's folder it was found under, from which it includes headers."""
    roots = [os.environ[name] for name in _ROOTS if os.environ.get(name)]
    for root in ("", *roots):
        path = Path(root) / source
        if path.is_file():
            return str(path), tuple(roots)
    looked = ", ".join(("the current folder", *roots))
    raise ArgumentError(
        "TT321", f"there is no kernel {source} in {looked}", help="TT_METAL_RUNTIME_ROOT names the SDK's folder"
    )
