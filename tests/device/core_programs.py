"""Hand-written programs on a rectangle of cores: raw pages in, raw pages out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch

from tilelang_tt.arch import ARCHS
from tilelang_tt.runtime import arena
from tilelang_tt.runtime.formats import page_bytes
from tilelang_tt.runtime.plan import ComputeConfig, Role
from tilelang_tt.runtime.program import (
    DRAM_BASE,
    BufferRun,
    CoreRun,
    GroupRun,
    KernelRun,
    LaunchRun,
    Memory,
    Run,
    TensorRun,
    round_up,
)
from tilelang_tt.runtime.runner import RunReport, execute

Args = Callable[[int, int], tuple[int, ...]]
DRAM = 2  # first word of TensorAccessorArgs of an interleaved tensor in DRAM
TILE_BYTES = 2048  # bf16


@dataclass(frozen=True)
class Kernel:
    text: str
    args: Args = lambda _x, _y: ()
    compile_args: tuple[int, ...] = ()
    noc: int = 0
    common_args: tuple[int, ...] = ()


@dataclass(frozen=True)
class Cores:
    """The same kernels on every core of `grid`; runtime arguments by core. Addresses: see `address`."""

    kernels: Mapping[Role, Kernel]
    tensors: Mapping[str, int]  # name -> pages
    grid: tuple[int, int] = (2, 1)
    buffers: tuple[tuple[int, int], ...] = ((0, 2),)  # CB id, pages
    semaphores: Mapping[int, int] = field(default_factory=dict)
    arch: str = "wormhole_b0"
    formats: Mapping[int, str] = field(default_factory=dict)  # of CBs that are not bf16
    to_dest: tuple[int, ...] = ()
    seed: int = 0
    allowed: tuple[str, ...] = ()  # categories of breaches

    def noc(self, x: int, y: int) -> tuple[int, int]:
        return ARCHS[self.arch].noc_coordinates(x, y)

    def run(self, **data: torch.Tensor) -> dict[str, torch.Tensor]:
        return self.run_with_report(**data)[0]

    def run_with_report(self, **data: torch.Tensor) -> tuple[dict[str, torch.Tensor], RunReport]:
        """`data`: bytes of input tensors, [pages, page bytes]; the others start as 0x77."""
        chip = ARCHS[self.arch]
        slots = place_tensors(self.tensors, chip.dram_banks)
        memory = arena.Arena(sum(round_up(slot.bytes) + round_up(slot.pages) for slot in slots.values()))
        memory.bytes.zero_()
        views = {
            name: memory.bytes[slot.offset : slot.offset + slot.bytes].view(slot.pages, slot.page_bytes)
            for name, slot in slots.items()
        }
        for name, view in views.items():
            view.copy_(data[name]) if name in data else view.fill_(0x77)
        at, buffers = chip.l1_base, []
        for number, pages in self.buffers:
            form = self.formats.get(number, "Float16_b")
            size = page_bytes(form)
            buffers.append(
                BufferRun(number, f"cb{number}", form, form, size, pages, at, unpack_to_dest=number in self.to_dest)
            )
            at = round_up(at + pages * size)
        kernels: dict[Role, KernelRun] = {
            role: KernelRun(role, f"{role}.cpp", one.text, one.noc, one.compile_args, common_args=one.common_args)
            for role, one in self.kernels.items()
        }
        cores = tuple(
            CoreRun(x, y, {role: one.args(x, y) for role, one in self.kernels.items()})
            for y in range(self.grid[1])
            for x in range(self.grid[0])
        )
        group = GroupRun(cores, kernels, tuple(buffers), tuple(self.semaphores.items()), ComputeConfig())
        run = Run(
            "cores", chip, "fast", tuple(slots.values()), (LaunchRun("cores", (group,)),),
            Memory(memory.size), chip.grid, self.seed, allowed=self.allowed,
        )  # fmt: skip
        try:
            report = execute(run, lambda: memory, timeout=20)
            return {name: view.clone() for name, view in views.items()}, report
        finally:
            del views
            memory.close()


def place_tensors(tensors: Mapping[str, int], banks: int) -> dict[str, TensorRun]:
    slots: dict[str, TensorRun] = {}
    address, offset = DRAM_BASE, 0
    for name, pages in tensors.items():
        data = pages * TILE_BYTES
        slots[name] = TensorRun(name, "dram", address, TILE_BYTES, pages, offset, offset + round_up(data))
        address += round_up(-(-pages // banks) * TILE_BYTES)
        offset += round_up(data) + round_up(pages)
    return slots


def address(tensors: Mapping[str, int], name: str, arch: str = "wormhole_b0") -> int:
    """Where a tensor lies in every bank."""
    return place_tensors(tensors, ARCHS[arch].dram_banks)[name].address


def random_pages(pages: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 256, (pages, TILE_BYTES), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))
