"""Opening the virtual device as ttnn opens a card.

Which chip it is, ttnn finds out from the machine; here `use_virtual_device` or the environment says it:
TILELANG_TT_ARCH (`wormhole_b0`, `blackhole`) and TILELANG_TT_NUMERICS (`fast`, `exact`, `chip`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tilelang_tt import device as virtual
from tilelang_tt.arch import WORMHOLE_B0
from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.ttnn.cores import CoreCoord
from tilelang_tt.ttnn.memory import not_offered
from tilelang_tt.ttnn.values import Arch, CoreGrid, MeshCoordinate, MeshShape


@dataclass
class _Options:
    arch: str = field(default_factory=lambda: os.environ.get("TILELANG_TT_ARCH", WORMHOLE_B0.name))
    numerics: str = field(default_factory=lambda: os.environ.get("TILELANG_TT_NUMERICS", "fast"))
    seed: int = 0
    time_limit: float | None = None
    grid: tuple[int, int] | None = None
    strict: bool = True
    allow: Sequence[str] = ()


_options: _Options | None = None


def use_virtual_device(
    arch: str = WORMHOLE_B0.name,
    *,
    numerics: str = "fast",
    seed: int = 0,
    time_limit: float | None = None,
    grid: tuple[int, int] | None = None,
    strict: bool = True,
    allow: Sequence[str] = (),
) -> None:
    """What the next `open_device` opens; the arguments are those of `tilelang_tt.device.open_device`."""
    global _options
    _options = _Options(arch, numerics, seed, time_limit, grid, strict, allow)


class MeshDevice:
    """One virtual chip with the methods of ttnn's device; `virtual` is the device, `report` tells of the last run."""

    def __init__(self, options: _Options, l1_small_size: int) -> None:
        self.virtual = virtual.open_device(**vars(options))
        self.virtual.reserve_l1(l1_small_size)
        self.report: virtual.RunReport | None = None

    def __getattr__(self, name: str) -> object:
        raise missing_attribute(self, name)

    @property
    def core_grid(self) -> CoreGrid:
        return CoreGrid(x=self.virtual.grid[0], y=self.virtual.grid[1])

    @property
    def shape(self) -> MeshShape:
        return MeshShape(1, 1)

    def arch(self) -> Arch:
        return Arch[self.virtual.arch.name.upper()]

    def id(self) -> int:
        return 0

    def get_device_ids(self) -> list[int]:
        return [0]

    def get_device_id(self, coordinate: MeshCoordinate) -> int:
        if any(coordinate):
            raise ArgumentError("TT320", f"there is no device at {coordinate}: the mesh is 1 x 1")
        return 0

    def get_num_devices(self) -> int:
        return 1

    def compute_with_storage_grid_size(self) -> CoreCoord:
        return CoreCoord(*self.virtual.grid)

    def dram_grid_size(self) -> CoreCoord:
        return CoreCoord(self.virtual.arch.dram_banks, 1)

    def worker_core_from_logical_core(self, logical_core: CoreCoord) -> CoreCoord:
        return CoreCoord(self.virtual.worker_core_from_logical_core(logical_core.native()))

    def enable_program_cache(self) -> None:
        """Kernels are cached in any case."""

    def disable_and_clear_program_cache(self) -> None:
        """Kernels are found again by their text; there is nothing to clear."""

    def clear_program_cache(self) -> None:
        """As `disable_and_clear_program_cache`."""


def missing_attribute(owner: object, name: str) -> AttributeError:
    """The error for a method of ttnn's class that is not offered here, with those that are."""
    kind = type(owner).__name__
    there = ", ".join(sorted(item for item in dir(type(owner)) if not item.startswith("_")))
    return AttributeError(f"tilelang_tt.ttnn.{kind} has no '{name}'; it has {there}")


def open_device(
    device_id: int = 0,
    *,
    l1_small_size: int = 0,
    trace_region_size: int = 0,
    dispatch_core_config: None = None,
    worker_l1_size: int = 0,
    num_command_queues: int = 1,
) -> MeshDevice:
    """Open the virtual chip. `l1_small_size` takes L1 from every core, as on the chip; traces need no room here."""
    if device_id != 0:
        raise ArgumentError("TT320", f"there is no device {device_id}: the virtual device is device 0")
    if worker_l1_size:
        raise not_offered("worker_l1_size")
    return MeshDevice(_options or _Options(), l1_small_size)


def open_mesh_device(
    mesh_shape: MeshShape | None = None, l1_small_size: int = 0, trace_region_size: int = 0, num_command_queues: int = 1
) -> MeshDevice:
    if mesh_shape is not None and mesh_shape.mesh_size() != 1:
        raise not_offered(f"a mesh of {' x '.join(map(str, mesh_shape))} devices")
    return open_device(l1_small_size=l1_small_size, trace_region_size=trace_region_size)


def close_device(device: MeshDevice) -> None:
    device.virtual.close()


def synchronize_device(device: MeshDevice, cq_id: int | None = None) -> None:
    """Programs have ended when `generic_op` returns."""


@contextmanager
def manage_device(device_id: int) -> Iterator[MeshDevice]:
    device = open_device(device_id)
    try:
        yield device
    finally:
        close_device(device)


def get_num_devices() -> int:
    return 1


def get_arch_name() -> str:
    return (_options or _Options()).arch


def is_wormhole_b0(device: MeshDevice | None = None) -> bool:
    return (device.virtual.arch.name if device is not None else get_arch_name()) == WORMHOLE_B0.name


def is_blackhole(device: MeshDevice | None = None) -> bool:
    return not is_wormhole_b0(device)
