"""An open device: memory that lasts from program to program, and `run`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import torch

from tilelang_tt.arch import ARCHS, TILE, Arch
from tilelang_tt.clock.request import ClockRequest, clock_request
from tilelang_tt.device.assemble import assemble
from tilelang_tt.device.cores import CoreCoord
from tilelang_tt.device.descriptors import ProgramDescriptor
from tilelang_tt.device.heap import Heap
from tilelang_tt.device.memory import (
    DRAM_MEMORY_CONFIG,
    BufferType,
    DataType,
    Layout,
    MemoryConfig,
    Pages,
    Placement,
    place_nd_shards,
    place_shards,
)
from tilelang_tt.device.strictness import allowed_categories
from tilelang_tt.device.tensor import POISON, Tensor, pages_of, stored_format
from tilelang_tt.diagnostics import ArgumentError, DeviceError, warn
from tilelang_tt.runtime.arena import Arena
from tilelang_tt.runtime.program import DRAM_BASE, TIMING_ONLY, Memory, Run, TensorRun
from tilelang_tt.runtime.runner import RunReport, execute, numerics_mode
from tilelang_tt.short_errors import users_line

_WIDE_L1 = 4  # exact numerics: L1 addresses reach this many times further, since pages grow
_DTYPES = {
    torch.bfloat16: DataType.BFLOAT16,
    torch.float32: DataType.FLOAT32,
    torch.float16: DataType.FLOAT16,
    torch.int32: DataType.INT32,
    torch.uint32: DataType.UINT32,
    torch.uint16: DataType.UINT16,
    torch.uint8: DataType.UINT8,
}


class Device:
    """One chip. Use it as a context manager, or call `close`."""

    def __init__(
        self,
        arch: str = "wormhole_b0",
        *,
        numerics: str = "fast",
        seed: int = 0,
        time_limit: float | None = None,
        grid: tuple[int, int] | None = None,
        strict: bool = True,
        allow: Sequence[str] = (),
        clock: bool | Mapping[str, float] | ClockRequest = False,
    ) -> None:
        if arch not in ARCHS:
            raise ArgumentError("TT320", f"unknown arch '{arch}'", help=f"valid: {', '.join(ARCHS)}")
        self.arch: Arch = ARCHS[arch]
        self.numerics = numerics_mode(numerics)
        self.seed = seed
        self.time_limit = time_limit
        self.grid = _checked_grid(self.arch, grid)
        self.allowed = allowed_categories(strict, allow)
        self.clock = clock_request(clock or self.numerics == TIMING_ONLY)
        wide = self.numerics == "exact"
        self._l1_top = self.arch.l1_bytes * (_WIDE_L1 if wide else 1)
        self._window = 1 << (self._l1_top - 1).bit_length()
        # A bank's bytes lie side by side with the other banks': host offset = (address - base) * banks.
        self._dram = Heap(DRAM_BASE, DRAM_BASE + self.arch.dram_bank_bytes)
        self._l1 = Heap(self.arch.l1_base, self._l1_top)
        self._l1_start = self.arch.dram_bank_bytes * self.arch.dram_banks
        self._arena: Arena | None = Arena(self._l1_start + self._window * math.prod(self.grid))
        self._tensors: list[Tensor] = []
        self._named = 0

    def __enter__(self) -> Device:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give all memory back; tensors of the device cannot be used any more."""
        if self._arena is not None:
            self._arena.close()
            self._arena = None
            self._tensors.clear()

    def compute_with_storage_grid_size(self) -> CoreCoord:
        return CoreCoord(*self.grid)

    def worker_core_from_logical_core(self, core: tuple[int, int]) -> CoreCoord:
        """The coordinates under which kernels reach a core over the NoC."""
        x, y = core
        if not (0 <= x < self.grid[0] and 0 <= y < self.grid[1]):
            raise ArgumentError("TT320", f"core {(x, y)} lies outside the {self.grid[0]} x {self.grid[1]} grid")
        return CoreCoord(*self.arch.noc_coordinates(x, y))

    def allocate_tensor(
        self,
        shape: Sequence[int],
        dtype: DataType = DataType.BFLOAT16,
        layout: Layout = Layout.TILE,
        memory_config: MemoryConfig = DRAM_MEMORY_CONFIG,
        *,
        name: str | None = None,
        tile: tuple[int, int] = (TILE, TILE),
    ) -> Tensor:
        """Room for a tensor; its contents are poison until something is written."""
        self._require_open()
        sizes = tuple(int(size) for size in shape)
        if not sizes or min(sizes) < 1:
            raise ArgumentError("TT320", f"a tensor of shape {sizes}")
        stored = stored_format(dtype, layout, self.numerics)
        in_dram = memory_config.buffer_type is BufferType.DRAM
        align = self.arch.dram_read_align if in_dram else self.arch.noc_align
        pages = pages_of(sizes, dtype, layout, memory_config, stored, align, tile)
        placement = _placement(memory_config, sizes, pages, layout, tile, self)
        label = name or f"tensor{self._named}"
        self._named += 1
        run = self._place(label, memory_config.buffer_type, pages.stride, pages.count, placement)
        tensor = Tensor(self, label, sizes, dtype, layout, memory_config, pages, placement, run, stored, tile)
        self._tensors.append(tensor)
        self._poison(tensor)
        return tensor

    def from_torch(
        self,
        values: torch.Tensor | np.ndarray[Any, Any],
        dtype: DataType | None = None,
        layout: Layout = Layout.TILE,
        memory_config: MemoryConfig = DRAM_MEMORY_CONFIG,
        *,
        name: str | None = None,
        tile: tuple[int, int] = (TILE, TILE),
    ) -> Tensor:
        """A tensor filled with these values, in their own number format unless `dtype` names another."""
        source = torch.from_numpy(np.ascontiguousarray(values)) if isinstance(values, np.ndarray) else values
        if dtype is None and source.dtype not in _DTYPES:
            raise ArgumentError("TT320", f"the device has no {source.dtype}", help="name a dtype to convert to")
        kind = dtype or _DTYPES[source.dtype]
        tensor = self.allocate_tensor(source.shape, kind, layout, memory_config, name=name, tile=tile)
        tensor.copy_from(source)
        return tensor

    def run(self, program: ProgramDescriptor, *, record: Path | None = None) -> RunReport:
        """Run one program to its end; tensors keep what it wrote. `record`: time it, and write its events there."""
        arena = self._require_open()
        heap = self._l1.lowest()
        run = Run(
            name=program.name,
            arch=self.arch,
            numerics=self.numerics,
            tensors=tuple(tensor.run for tensor in self._tensors),
            launches=(assemble(program, self),),
            memory=Memory(
                dram_bytes=(self._dram.highest() - DRAM_BASE) * self.arch.dram_banks,
                l1_shared=self._l1_start,
                l1_heap=heap if heap < self._l1_top else 0,
                l1_top=self._l1_top,
            ),
            grid=self.grid,
            seed=self.seed,
            allowed=self.allowed,
            clock=self.clock if record is None else replace(self.clock or ClockRequest(), record=record),
        )
        report = execute(run, lambda: arena, timeout=self.time_limit)
        for text in report.warnings:
            warn("TT705", text, location=users_line())
        return report

    def reserve_l1(self, size: int) -> None:
        """Keep the end of every core's L1 free of tensors and buffers, as the SDK's `l1_small_size` does."""
        if size and self._l1.take_high(size, self.arch.dram_read_align) is None:
            raise DeviceError("TT410", f"no room for {size:,} B of L1; the largest gap has {self._l1.gap():,} B")

    def l1_tensor_bytes(self) -> int:
        """L1 that tensors take in every core, in their declared formats: from the lowest to the end."""
        sizes = (
            (tensor.run.slots or -(-tensor.run.pages // math.prod(self.grid))) * tensor.declared_page_size
            for tensor in self._tensors
            if tensor.run.memory == "l1"
        )
        if self.numerics == "exact":
            return sum(sizes)
        return self.arch.l1_bytes - self._l1.lowest()

    # What tensors need of their device.

    def _require_open(self) -> Arena:
        if self._arena is None:
            raise ArgumentError("TT320", "the device is closed")
        return self._arena

    def _bytes(self, offset: int, size: int) -> torch.Tensor:
        return self._require_open().bytes[offset : offset + size]

    def _l1_offset(self, core: int) -> int:
        return self._l1_start + core * self._window

    def _release(self, tensor: Tensor) -> None:
        (self._l1 if tensor.run.memory == "l1" else self._dram).give_back(tensor.run.address)
        self._dram.give_back(self._marks_address(tensor.run.marks))
        self._tensors.remove(tensor)

    def _place(self, name: str, kind: BufferType, stride: int, count: int, placement: Placement | None) -> TensorRun:
        banks = self.arch.dram_banks if kind is BufferType.DRAM else math.prod(self.grid)
        slots = placement.slots if placement else -(-count // banks)
        address = self._take(kind, name, slots * stride)
        marks = self._host_offset(self._take(BufferType.DRAM, name, -(-count // self.arch.dram_banks)))
        self._bytes(marks, count).zero_()
        offset = self._host_offset(address) if kind is BufferType.DRAM else 0
        return TensorRun(
            name, kind.value, address, stride, count, offset, marks,
            placement.slots if placement else 0, placement.places if placement else (),
        )  # fmt: skip

    def _take(self, kind: BufferType, name: str, size: int) -> int:
        heap = self._dram if kind is BufferType.DRAM else self._l1
        address = (
            heap.take_low(size, 64) if kind is BufferType.DRAM else heap.take_high(size, self.arch.dram_read_align)
        )
        if address is None:
            raise DeviceError(
                "TT410",
                f"no room for tensor '{name}': it needs {size:,} B in every {kind.name} bank; "
                f"the largest gap has {heap.gap():,} B",
            )
        return address

    def _host_offset(self, address: int) -> int:
        return (address - DRAM_BASE) * self.arch.dram_banks

    def _marks_address(self, offset: int) -> int:
        return offset // self.arch.dram_banks + DRAM_BASE

    def _poison(self, tensor: Tensor) -> None:
        run = tensor.run
        if self.numerics == TIMING_ONLY:
            return
        if run.memory == "dram":
            pages = run.slots * self.arch.dram_banks if run.slots else run.pages
            self._bytes(run.offset, pages * run.page_bytes).fill_(POISON)
            return
        banks: Iterable[int] = range(math.prod(self.grid))
        if tensor.placement:
            banks = (core.y * self.grid[0] + core.x for core in tensor.placement.banks)
        slots = run.slots or -(-run.pages // math.prod(self.grid))
        for bank in banks:
            self._bytes(self._l1_offset(bank) + run.address, slots * run.page_bytes).fill_(POISON)


def _placement(
    config: MemoryConfig, shape: tuple[int, ...], pages: Pages, layout: Layout, tile: tuple[int, int], device: Device
) -> Placement | None:
    if config.nd_shard_spec is not None:
        return place_nd_shards(config, shape, layout, device.arch, device.grid, tile)
    return place_shards(config, pages, layout, device.arch, device.grid, tile) if config.sharded else None


def open_device(
    arch: str = "wormhole_b0",
    *,
    numerics: str = "fast",
    seed: int = 0,
    time_limit: float | None = None,
    grid: tuple[int, int] | None = None,
    strict: bool = True,
    allow: Sequence[str] = (),
    clock: bool | Mapping[str, float] | ClockRequest = False,
) -> Device:
    """Open a virtual chip; see `Device`."""
    return Device(
        arch, numerics=numerics, seed=seed, time_limit=time_limit, grid=grid, strict=strict, allow=allow, clock=clock
    )


def generic_op(tensors: Sequence[Tensor], program: ProgramDescriptor) -> Tensor:
    """Run a program on the device of its tensors; the last one is the output, and is returned."""
    if not tensors:
        raise ArgumentError("TT320", "generic_op needs at least one tensor")
    for tensor in tensors:
        if tensor.device is not tensors[0].device:
            raise ArgumentError("TT320", f"tensor '{tensor.name}' lies on another device")
        tensor._require_live()
    tensors[0].device.run(program)
    return tensors[-1]


def _checked_grid(arch: Arch, grid: tuple[int, int] | None) -> tuple[int, int]:
    if grid is None:
        return arch.grid
    if not (0 < grid[0] <= arch.grid[0] and 0 < grid[1] <= arch.grid[1]):
        raise ArgumentError(
            "TT320", f"a grid of {grid[0]} x {grid[1]} cores: {arch.title} has {arch.grid[0]} x {arch.grid[1]}"
        )
    return grid
