"""Program descriptors with the signatures of ttnn 0.77, and how they read on the virtual device.

Descriptors are values, as in ttnn: a program keeps copies of its kernels, `program.kernels` is a new list of the kept
ones, so `program.kernels[0].runtime_args[0][0].append(7)` counts and `program.kernels.append(kernel)` does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from tilelang_tt import device as virtual
from tilelang_tt.arch import TILE
from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.ttnn.cores import CoreRangeSet
from tilelang_tt.ttnn.kernels import KernelDescriptor
from tilelang_tt.ttnn.memory import device_dtype, not_offered
from tilelang_tt.ttnn.tensors import Tensor
from tilelang_tt.ttnn.values import CoreType, DataType, MeshCoordinateRange, Tile


@dataclass(slots=True)
class TileDescriptor:
    height: int | Tile = TILE
    width: int = TILE
    transpose: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.height, Tile):
            self.height, self.width = self.height.tile_shape
        if self.transpose:
            shape = (self.height, self.width)
            raise ArgumentError("TT322", f"tilelang_tt.ttnn has no circular buffers of transposed {shape} tiles")

    def shape(self) -> tuple[int, int]:
        assert isinstance(self.height, int)
        return self.height, self.width


@dataclass(slots=True)
class CBFormatDescriptor:
    buffer_index: int = 0
    data_format: DataType = DataType.BFLOAT16
    page_size: int = 0
    tile: TileDescriptor | None = None

    def native(self) -> virtual.CBFormatDescriptor:
        tile = self.tile.shape() if self.tile else (TILE, TILE)
        dtype = device_dtype(self.data_format)
        return virtual.CBFormatDescriptor(int(self.buffer_index), dtype, self.page_size, tile=tile)


@dataclass(slots=True)
class CBDescriptor:
    total_size: int = 0
    core_ranges: CoreRangeSet = field(default_factory=CoreRangeSet)
    format_descriptors: Sequence[CBFormatDescriptor] = ()
    address_offset: int = 0
    _tensor: Tensor | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.format_descriptors = [replace(item) for item in self.format_descriptors]

    def has_buffer(self) -> bool:
        return self._tensor is not None

    def has_global_circular_buffer(self) -> bool:
        return False

    def buffer_address(self) -> int | None:
        return self._tensor.buffer_address() if self._tensor is not None else None

    def set_buffer_from_cb(self, other: CBDescriptor) -> None:
        self._tensor = other._tensor

    def native(self) -> virtual.CBDescriptor:
        if self._tensor is None and self.address_offset:
            raise not_offered("a CBDescriptor with an address_offset and no tensor")
        return virtual.CBDescriptor(
            self.total_size,
            self.core_ranges.native(),
            [item.native() for item in self.format_descriptors],
            self._tensor.native() if self._tensor is not None else None,
            self.address_offset,
        )


def cb_descriptor_from_sharded_tensor(
    cb_index: int,
    tensor: Tensor,
    address_offset: int = 0,
    total_size: int = 0,
    core_ranges: CoreRangeSet | None = None,
) -> CBDescriptor:
    """A circular buffer whose pages are the core's shard of a tensor in L1."""
    made = virtual.cb_descriptor_from_sharded_tensor(cb_index, tensor.native(), address_offset, total_size)
    config = tensor.memory_config()
    spec = config.shard_spec or config.nd_shard_spec
    assert spec is not None  # the device refuses tensors that are not sharded
    form = CBFormatDescriptor(cb_index, tensor.dtype, made.format_descriptors[0].page_size)
    return CBDescriptor(made.total_size, core_ranges or spec.grid, [form], address_offset, tensor)


def get_cb_address(descriptor: CBDescriptor) -> int:
    return (descriptor.buffer_address() or 0) + descriptor.address_offset


@dataclass(slots=True)
class SemaphoreDescriptor:
    id: int
    core_type: CoreType = CoreType.WORKER
    core_ranges: CoreRangeSet = field(default_factory=CoreRangeSet)
    initial_value: int = 0

    def native(self) -> virtual.SemaphoreDescriptor:
        if self.core_type not in (CoreType.WORKER, CoreType.TENSIX):
            raise not_offered(f"semaphores of CoreType.{self.core_type.name}")
        return virtual.SemaphoreDescriptor(self.id, self.core_ranges.native(), self.initial_value)


class ProgramDescriptor:
    __slots__ = ("_cbs", "_kernels", "_semaphores", "custom_program_hash")

    def __init__(
        self,
        kernels: Sequence[KernelDescriptor] = (),
        semaphores: Sequence[SemaphoreDescriptor] = (),
        cbs: Sequence[CBDescriptor] = (),
    ) -> None:
        self.kernels, self.semaphores, self.cbs = kernels, semaphores, cbs
        self.custom_program_hash: int | None = None  # names a program to ttnn's cache; there is none to ask here

    @property
    def kernels(self) -> list[KernelDescriptor]:
        return list(self._kernels)

    @kernels.setter
    def kernels(self, kernels: Sequence[KernelDescriptor]) -> None:
        self._kernels = [replace(kernel) for kernel in kernels]

    @property
    def semaphores(self) -> list[SemaphoreDescriptor]:
        return list(self._semaphores)

    @semaphores.setter
    def semaphores(self, semaphores: Sequence[SemaphoreDescriptor]) -> None:
        self._semaphores = [replace(semaphore) for semaphore in semaphores]

    @property
    def cbs(self) -> list[CBDescriptor]:
        return list(self._cbs)

    @cbs.setter
    def cbs(self, cbs: Sequence[CBDescriptor]) -> None:
        self._cbs = [replace(cb) for cb in cbs]

    def native(self) -> virtual.ProgramDescriptor:
        return virtual.ProgramDescriptor(
            kernels=[kernel.native() for kernel in self._kernels],
            semaphores=[semaphore.native() for semaphore in self._semaphores],
            cbs=[cb.native() for cb in self._cbs],
        )


def merge_program_descriptors(descriptors: Sequence[ProgramDescriptor]) -> ProgramDescriptor:
    """All of them as one program; they must not meet on a core."""
    for number, one in enumerate(descriptors):
        for other in descriptors[:number]:
            for mine in one.kernels:
                for kernel in other.kernels:
                    shared = mine.core_ranges.subtract(mine.core_ranges.subtract(kernel.core_ranges))
                    if not shared.empty():
                        raise ArgumentError("TT321", f"programs to be merged meet on the cores {shared}")
    return ProgramDescriptor(
        [kernel for one in descriptors for kernel in one.kernels],
        [semaphore for one in descriptors for semaphore in one.semaphores],
        [cb for one in descriptors for cb in one.cbs],
    )


class MeshProgramDescriptor:
    """Programs by the devices they run on; here that is one device."""

    def __init__(self, mesh_programs: dict[MeshCoordinateRange, ProgramDescriptor] | None = None) -> None:
        self._programs = dict(mesh_programs or {})

    def __setitem__(self, key: MeshCoordinateRange, value: ProgramDescriptor) -> None:
        self._programs[key] = value

    def __getitem__(self, key: MeshCoordinateRange) -> ProgramDescriptor:
        return self._programs[key]

    def __contains__(self, key: MeshCoordinateRange) -> bool:
        return key in self._programs

    def __iter__(self) -> Iterator[tuple[MeshCoordinateRange, ProgramDescriptor]]:
        return iter(self._programs.items())

    def only_program(self) -> ProgramDescriptor:
        if len(self._programs) != 1 or not next(iter(self._programs)).holds_one_device():
            raise not_offered(f"a mesh program for {', '.join(map(str, self._programs))}: there is one device, (0, 0)")
        return next(iter(self._programs.values()))


class TensorAccessorArgs:
    def __init__(self, tensor: Tensor) -> None:
        self._native = virtual.TensorAccessorArgs(tensor.native())

    def get_compile_time_args(self) -> list[int]:
        return self._native.get_compile_time_args()

    def get_common_runtime_args(self) -> list[int]:
        return self._native.get_common_runtime_args()


def generic_op(io_tensors: Sequence[Tensor], program_descriptor: ProgramDescriptor | MeshProgramDescriptor) -> Tensor:
    """Run a program on the device of its tensors; the last one is the output, and is returned."""
    if not io_tensors:
        raise ArgumentError("TT320", "generic_op needs at least one tensor")
    device = io_tensors[0].device()
    for tensor in io_tensors:
        if tensor.device() is not device:
            raise ArgumentError("TT320", f"{tensor!r} lies on another device")
        if not tensor.is_allocated():
            raise ArgumentError("TT320", f"{tensor!r} was deallocated")
    program = program_descriptor
    if isinstance(program, MeshProgramDescriptor):
        program = program.only_program()
    device.report = device.virtual.run(program.native())
    return io_tensors[-1]
