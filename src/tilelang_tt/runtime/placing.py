"""Where the pages of tensors lie in this call: sizes filled in, addresses taken.

TensorPlan + sizes  ->  TensorRun: DRAM banks from below, L1 of the cores from above
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from tilelang_tt.arch import Arch
from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime.plan import ShardPlan, TensorPlan, evaluate
from tilelang_tt.runtime.program import DRAM_BASE, Memory, Run, TensorRun, round_up
from tilelang_tt.shards import Shards, l1_bytes, shards_over

_WIDE_L1 = 4  # times the chip's L1: `exact` numerics hold 32 bits for every number
_L1_GRAIN = 1 << 16  # of the host's memory, for the first core


def shards_of(plan: ShardPlan, sizes: Mapping[str, int]) -> Shards:
    """With sizes filled in; a tensor without elements has one page."""
    count, rows, cols = (max(1, evaluate(size, sizes)) for size in plan.pages)
    deep, high, wide = (max(1, evaluate(size, sizes)) for size in plan.shape)
    return shards_over((count, rows, cols), (deep, high, wide), plan.cores)


def l1_of(tensor: TensorPlan, chip: Arch) -> int | None:
    """Bytes that a tensor takes of the L1 of a core; None: that is known at the call."""
    if tensor.memory != "l1":
        return 0
    sizes = (tensor.batch, tensor.row_tiles, tensor.col_tiles)
    sides = () if tensor.shards is None else (*tensor.shards.pages, *tensor.shards.shape)
    if not all(isinstance(size, int) for size in (*sizes, *sides)):
        return None
    pages = math.prod(evaluate(size, {}) for size in sizes)
    shards = None if tensor.shards is None else shards_of(tensor.shards, {})
    return l1_bytes(pages, tensor.page_bytes, shards, chip.cores)


@dataclass
class Placer:
    """Takes addresses for the tensors of a call, one after the other."""

    chip: Arch
    kernel: str
    exact: bool
    dram: int = DRAM_BASE
    l1: int = 0  # lowest L1 address that a tensor has
    offset: int = 0  # in the shared memory
    shards: dict[str, Shards] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.l1 = self.l1_top

    @property
    def l1_top(self) -> int:
        return self.chip.l1_bytes * (_WIDE_L1 if self.exact else 1)

    def place(self, tensor: TensorPlan, pages: int, sizes: Mapping[str, int], *, flat: bool) -> TensorRun:
        in_l1 = tensor.memory == "l1"
        banks = self.chip.cores if in_l1 else self.chip.dram_banks
        slots, places = 0, tuple[int, ...]()
        if tensor.shards is not None:
            shards = self.shards[tensor.name] = shards_of(tensor.shards, sizes)
            numbers = [x if not in_l1 else y * self.chip.grid[0] + x for x, y in shards.cores]
            slots, places = shards.slots, tuple(shards.places(numbers).tolist())
        per_bank = slots or -(-pages // banks)
        address = self.take_l1(tensor, per_bank) if in_l1 else self.take_dram(per_bank * tensor.page_bytes)
        data = 0 if in_l1 else (per_bank * banks if slots else pages) * tensor.page_bytes
        marks = self.offset + round_up(data)
        run = TensorRun(
            tensor.name, tensor.memory, address, tensor.page_bytes, pages, self.offset, marks, slots, places, flat
        )
        self.offset = marks + round_up(pages)
        return run

    def take_dram(self, size: int) -> int:
        address = self.dram
        self.dram += round_up(size)
        if self.dram > 0xFFFFFFFF:
            raise DeviceError(
                "TT410", f"the tensors of '{self.kernel}' need {self.dram:,} B per DRAM bank; 4 GiB is the limit"
            )
        return address

    def take_l1(self, tensor: TensorPlan, pages: int) -> int:
        size = round_up(pages * tensor.page_bytes)
        if self.l1 - size < self.chip.l1_base:
            raise DeviceError(
                "TT410",
                f"tensor '{tensor.name}' of kernel '{self.kernel}' needs {size:,} B of the L1 of each core; "
                f"{self.chip.title} has {self.l1 - self.chip.l1_base:,} B left",
                help="use more cores for its shards, or leave it in DRAM",
            )
        self.l1 -= size
        return self.l1

    def memory(self) -> Memory:
        """Of the whole call; the L1 of cores follows DRAM where tensors lie in it."""
        if self.l1 == self.l1_top:
            return Memory(self.offset)
        return Memory(self.offset, round_up(self.offset, _L1_GRAIN), self.l1, self.l1_top)


def _window(memory: Memory) -> int:
    return 1 << (memory.l1_top - 1).bit_length()


def shared_bytes(run: Run) -> int:
    """Bytes of host memory for the tensors of a call."""
    memory = run.memory
    return memory.l1_shared + run.arch.cores * _window(memory) if memory.l1_heap else memory.dram_bytes


def in_order(tensor: TensorRun, data: torch.Tensor) -> torch.Tensor | None:
    """The pages, one after the other, if they lie so in the shared memory."""
    if tensor.memory == "l1" or tensor.slots:
        return None
    return data[tensor.offset : tensor.offset + tensor.bytes].view(tensor.pages, tensor.page_bytes)


class Spread:
    """Pages of a tensor that lie in shards, or in the L1 of cores."""

    def __init__(self, tensor: TensorRun, run: Run, data: torch.Tensor) -> None:
        size, numbers = tensor.page_bytes, torch.arange(tensor.pages)
        banks = run.arch.cores if tensor.memory == "l1" else run.arch.dram_banks
        slots = tensor.slots or -(-tensor.pages // banks)
        dealt = numbers % banks * slots + numbers // banks
        places = torch.tensor(tensor.places, dtype=torch.int64) if tensor.slots else dealt
        self.bank, self.slot = places // slots, places % slots
        first, step = tensor.offset, slots * size
        if tensor.memory == "l1":
            first, step = run.memory.l1_shared + tensor.address, _window(run.memory)
        self.banks = data.as_strided((banks, slots, size), (step, size, 1), first)

    def fill(self, pages: torch.Tensor) -> None:
        self.banks[self.bank, self.slot] = pages

    def collect(self) -> torch.Tensor:
        return self.banks[self.bank, self.slot]
