"""The small values of ttnn's interface: enumerations, shapes, tiles, coordinates of a mesh.

Members and numbers are those of ttnn 0.77; a member that the virtual device cannot serve is refused where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum

from tilelang_tt.arch import FACE, TILE
from tilelang_tt.diagnostics import ArgumentError

TILE_SIZE = TILE
TILES = ((TILE, TILE), (FACE, TILE), (TILE, FACE))  # rows and columns


class DataType(Enum):
    BFLOAT16 = 0
    FLOAT32 = 1
    UINT32 = 2
    BFLOAT8_B = 3
    BFLOAT4_B = 4
    UINT8 = 5
    UINT16 = 6
    INT32 = 7
    FP8_E4M3 = 8
    INT8 = 9
    INVALID = 10


class Layout(Enum):
    ROW_MAJOR = 0
    TILE = 1
    INVALID = 2


class BufferType(Enum):
    DRAM = 0
    L1 = 1
    L1_SMALL = 3
    TRACE = 4


class TensorMemoryLayout(Enum):
    INTERLEAVED = 0
    HEIGHT_SHARDED = 2
    WIDTH_SHARDED = 3
    BLOCK_SHARDED = 4
    ND_SHARDED = 5


class ShardOrientation(Enum):
    ROW_MAJOR = 0
    COL_MAJOR = 1


class ShardDistributionStrategy(Enum):
    ROUND_ROBIN_1D = 0
    GRID_2D = 1
    CONTIGUOUS_1D = 2


class ShardStrategy(Enum):
    HEIGHT = 1
    WIDTH = 2
    BLOCK = 3


class MathFidelity(Enum):
    LoFi = 0
    HiFi2 = 2
    HiFi3 = 3
    HiFi4 = 4
    Invalid = 255


class StorageType(Enum):
    HOST = 0
    DEVICE = 1


class Arch(Enum):
    WORMHOLE_B0 = 2
    BLACKHOLE = 3
    QUASAR = 4


class DataMovementProcessor(IntEnum):
    RISCV_0 = 0
    RISCV_1 = 1


class NOC(IntEnum):
    RISCV_0_default = 0
    RISCV_1_default = 1
    NOC_0 = 0
    NOC_1 = 1


class NOC_MODE(IntEnum):  # noqa: N801 - the SDK's name
    DM_DEDICATED_NOC = 0
    DM_DYNAMIC_NOC = 1


class UnpackToDestMode(Enum):
    UnpackToDestFp32 = 0
    Default = 1


class CoreType(Enum):
    TENSIX = 5
    ETH = 11
    WORKER = 12


class Shape(Sequence[int]):
    """The extents of a tensor; equal to a list or tuple of the same numbers."""

    def __init__(self, shape: Sequence[int]) -> None:
        self._sizes = tuple(int(size) for size in shape)

    def __len__(self) -> int:
        return len(self._sizes)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]  # an int for an int, a tuple for a slice
        return self._sizes[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self._sizes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._sizes == tuple(other)

    def __hash__(self) -> int:
        return hash(self._sizes)

    def __repr__(self) -> str:
        return f"Shape({list(self._sizes)})"

    @property
    def rank(self) -> int:
        return len(self._sizes)

    def to_rank(self, rank: int) -> Shape:
        """Leading ones added or taken away."""
        spare = len(self._sizes) - rank
        if any(size != 1 for size in self._sizes[: max(spare, 0)]):
            raise ArgumentError("TT320", f"{self} cannot have rank {rank}: an axis it would lose is not 1")
        return Shape((1,) * -spare + self._sizes[max(spare, 0) :])


@dataclass(frozen=True)
class CoreGrid:
    x: int
    y: int

    def __init__(self, *, x: int, y: int) -> None:
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)

    @property
    def num_cores(self) -> int:
        return self.x * self.y


@dataclass(frozen=True)
class Tile:
    """The shape of a tile of a tensor. Tiles of circular buffers may have any number of rows that the chip has."""

    height: int
    width: int

    def __init__(self, tile_shape: Sequence[int] = (TILE, TILE), transpose_tile: bool = False) -> None:
        shape = tuple(tile_shape)
        if shape not in TILES or transpose_tile:
            turned = " transposed" if transpose_tile else ""
            raise ArgumentError(
                "TT322", f"tilelang_tt.ttnn has no{turned} tiles of {shape}; it has {', '.join(map(str, TILES))}"
            )
        object.__setattr__(self, "height", shape[0])
        object.__setattr__(self, "width", shape[1])

    @property
    def tile_shape(self) -> list[int]:
        return [self.height, self.width]

    @property
    def face_shape(self) -> list[int]:
        return [FACE, FACE]

    @property
    def num_faces(self) -> int:
        return (self.height // FACE) * (self.width // FACE)

    def get_tile_size(self, dtype: DataType) -> int:
        from tilelang_tt.ttnn.memory import device_dtype

        return device_dtype(dtype).format.page_bytes * self.height * self.width // (TILE * TILE)


@dataclass(frozen=True)
class MeshShape:
    """The extents of a mesh of devices; here there is one device."""

    sizes: tuple[int, ...]

    def __init__(self, *sizes: int | Sequence[int]) -> None:
        flat = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], Sequence) else sizes
        object.__setattr__(self, "sizes", tuple(flat))

    def __iter__(self) -> Iterator[int]:
        return iter(self.sizes)

    def __getitem__(self, index: int) -> int:
        return self.sizes[index]

    def dims(self) -> int:
        return len(self.sizes)

    def mesh_size(self) -> int:
        return math.prod(self.sizes)


class MeshCoordinate(MeshShape):
    """The place of a device in a mesh."""


@dataclass(frozen=True)
class MeshCoordinateRange:
    start: MeshCoordinate
    end: MeshCoordinate

    def __init__(self, start: MeshCoordinate | MeshShape, end: MeshCoordinate | None = None) -> None:
        last = end if end is not None else MeshCoordinate(*(size - 1 for size in start))
        first = start if isinstance(start, MeshCoordinate) else MeshCoordinate(*(0 for _ in start))
        object.__setattr__(self, "start", first)
        object.__setattr__(self, "end", last)

    def holds_one_device(self) -> bool:
        """Whether it is the first device alone, the only one there is."""
        return not any(self.start) and not any(self.end)
