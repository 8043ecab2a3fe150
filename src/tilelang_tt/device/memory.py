"""Where a tensor lies: DRAM or L1, interleaved over all banks or sharded over chosen ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from tilelang_tt.arch import Arch
from tilelang_tt.device.cores import CoreCoord, CoreRangeSet
from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.runtime.formats import FORMATS, Format
from tilelang_tt.shards import dealt


class DataType(Enum):
    """Number formats; the value is the name of the device's format."""

    BFLOAT16 = "Float16_b"
    FLOAT32 = "Float32"
    FLOAT16 = "Float16"
    BFLOAT8_B = "Bfp8_b"
    BFLOAT4_B = "Bfp4_b"
    INT32 = "Int32"
    UINT32 = "UInt32"
    UINT16 = "UInt16"
    UINT8 = "UInt8"

    @property
    def format(self) -> Format:
        return FORMATS[self.value]


class Layout(Enum):
    TILE = "tile"  # pages are tiles, 32x32 unless said
    ROW_MAJOR = "row_major"  # pages are rows


class BufferType(Enum):
    DRAM = "dram"
    L1 = "l1"


class TensorMemoryLayout(Enum):
    INTERLEAVED = "interleaved"
    HEIGHT_SHARDED = "height"
    WIDTH_SHARDED = "width"
    BLOCK_SHARDED = "block"


class ShardOrientation(Enum):
    ROW_MAJOR = "row_major"
    COL_MAJOR = "col_major"


@dataclass(frozen=True)
class ShardSpec:
    """Cores (DRAM: x is the bank, y is 0) and the part of the tensor each holds, in elements."""

    grid: CoreRangeSet
    shape: tuple[int, int]
    orientation: ShardOrientation = ShardOrientation.ROW_MAJOR

    def cores(self) -> list[CoreCoord]:
        if self.orientation is ShardOrientation.ROW_MAJOR:
            return sorted(self.grid, key=lambda core: (core.y, core.x))
        return sorted(self.grid)


@dataclass(frozen=True)
class NdShardSpec:
    """Shards with an extent along every axis, in elements, dealt to the cores in turn, row by row."""

    shard_shape: tuple[int, ...]
    grid: CoreRangeSet
    orientation: ShardOrientation = ShardOrientation.ROW_MAJOR

    def cores(self) -> list[CoreCoord]:
        cores = [core for one in self.grid.ranges for core in CoreRangeSet([one])]
        return cores if self.orientation is ShardOrientation.ROW_MAJOR else sorted(cores)


@dataclass(frozen=True)
class MemoryConfig:
    memory_layout: TensorMemoryLayout = TensorMemoryLayout.INTERLEAVED
    buffer_type: BufferType = BufferType.DRAM
    shard_spec: ShardSpec | None = None
    nd_shard_spec: NdShardSpec | None = None

    @property
    def sharded(self) -> bool:
        return self.memory_layout is not TensorMemoryLayout.INTERLEAVED or self.nd_shard_spec is not None


DRAM_MEMORY_CONFIG = MemoryConfig()
L1_MEMORY_CONFIG = MemoryConfig(buffer_type=BufferType.L1)


@dataclass(frozen=True)
class Pages:
    """A tensor as a grid of pages: tiles, or rows (row-major and sharded by width: pieces of rows)."""

    rows: int
    cols: int
    page_bytes: int  # of data
    stride: int  # bytes from page to page: page_bytes, aligned

    @property
    def count(self) -> int:
        return self.rows * self.cols


@dataclass(frozen=True)
class Placement:
    """Which bank and slot each page has. Interleaved tensors have no places: the rule says it."""

    banks: tuple[CoreCoord, ...]  # of a sharded tensor, in shard order
    pages: tuple[int, ...]  # the tensor, along each axis
    shard: tuple[int, ...]  # the same of a shard
    slots: int  # pages a bank holds
    places: tuple[int, ...]  # per page: bank * slots + slot


def shard_pages(spec: ShardSpec, layout: Layout, tile: tuple[int, int]) -> tuple[int, int]:
    """A shard's rows and columns, in pages."""
    height, width = spec.shape
    if height <= 0 or width <= 0:
        raise ArgumentError("TT320", f"a shard of {height} x {width} elements")
    if layout is Layout.ROW_MAJOR:
        return height, 1
    if height % tile[0] or width % tile[1]:
        raise ArgumentError("TT320", f"a shard of {height} x {width} elements is not made of {_tiles(tile)}")
    return height // tile[0], width // tile[1]


def _tiles(tile: tuple[int, int]) -> str:
    return f"{tile[0]}x{tile[1]} tiles"


def place_shards(
    config: MemoryConfig, pages: Pages, layout: Layout, arch: Arch, grid: tuple[int, int], tile: tuple[int, int]
) -> Placement:
    """Shard (i, j) of the tensor goes to one bank; its pages lie there row by row."""
    spec = config.shard_spec
    if spec is None:
        raise ArgumentError("TT320", f"memory layout {config.memory_layout.name} needs a shard_spec")
    height, width = shard_pages(spec, layout, tile)
    down, across = -(-pages.rows // height), -(-pages.cols // width)
    cores = _shard_cores(config, spec, down, across)
    for core in cores:
        _check_bank(core, config.buffer_type, arch, grid)
    slots = height * width
    places = []
    for row in range(pages.rows):
        for col in range(pages.cols):
            core = cores[(row // height) * across + col // width]
            bank = core.x if config.buffer_type is BufferType.DRAM else core.y * grid[0] + core.x
            places.append(bank * slots + (row % height) * width + col % width)
    return Placement(tuple(cores), (pages.rows, pages.cols), (height, width), slots, tuple(places))


def place_nd_shards(
    config: MemoryConfig,
    shape: tuple[int, ...],
    layout: Layout,
    arch: Arch,
    grid: tuple[int, int],
    tile: tuple[int, int],
) -> Placement:
    """Boxes of pages, dealt to the cores in turn; the last ones may be smaller, and have room for a whole one."""
    spec = config.nd_shard_spec
    assert spec is not None
    extents = spec.shard_shape
    if len(extents) != len(shape) or min(extents) < 1:
        raise ArgumentError("TT320", f"a shard of {extents} of a tensor of {shape}")
    page = tile if layout is Layout.TILE else (1, extents[-1])
    sides: tuple[int, ...] = (1,) * (len(shape) - 2) + page if len(shape) > 1 else page[-1:]
    if any(extent % side for extent, side in zip(extents, sides, strict=True)):
        raise ArgumentError("TT320", f"a shard of {extents} elements is not made of {_tiles(tile)}")
    pages = tuple(-(-size // side) for size, side in zip(shape, sides, strict=True))
    shard = tuple(extent // side for extent, side in zip(extents, sides, strict=True))
    counts = tuple(-(-whole // part) for whole, part in zip(pages, shard, strict=True))
    cores = spec.cores()[: math.prod(counts)]
    for core in cores:
        _check_bank(core, config.buffer_type, arch, grid)
    banks = [core.x if config.buffer_type is BufferType.DRAM else core.y * grid[0] + core.x for core in cores]
    slots = -(-math.prod(counts) // len(cores)) * math.prod(shard)
    return Placement(tuple(cores), pages, shard, slots, tuple(dealt(pages, shard, banks).tolist()))


def _shard_cores(config: MemoryConfig, spec: ShardSpec, down: int, across: int) -> list[CoreCoord]:
    cores = spec.cores()
    if config.memory_layout is TensorMemoryLayout.BLOCK_SHARDED:
        if len(spec.grid.ranges) != 1:
            raise ArgumentError("TT320", "block sharding needs a grid of one rectangle")
        (start, end) = spec.grid.ranges[0].start, spec.grid.ranges[0].end
        flipped = spec.orientation is ShardOrientation.COL_MAJOR
        room_x, room_y = end.x - start.x + 1, end.y - start.y + 1
        need_x, need_y = (down, across) if flipped else (across, down)
        if need_x > room_x or need_y > room_y:
            raise ArgumentError("TT320", f"{down} x {across} shards do not fit {room_x} x {room_y} cores")
        return [
            CoreCoord(start.x + (i if flipped else j), start.y + (j if flipped else i))
            for i in range(down)
            for j in range(across)
        ]
    split, other = ("height", across) if config.memory_layout is TensorMemoryLayout.HEIGHT_SHARDED else ("width", down)
    if other != 1:
        raise ArgumentError("TT320", f"sharded by {split}, but the shards of {spec.shape} split the other axis too")
    if down * across > len(cores):
        raise ArgumentError("TT320", f"{down * across} shards of {spec.shape} for {len(cores)} cores")
    return cores[: down * across]


def _check_bank(core: CoreCoord, kind: BufferType, arch: Arch, grid: tuple[int, int]) -> None:
    if kind is BufferType.DRAM:
        if core.y != 0 or core.x >= arch.dram_banks:
            raise ArgumentError(
                "TT320", f"DRAM bank {tuple(core)}: {arch.title} has banks (0,0) .. ({arch.dram_banks - 1},0)"
            )
    elif core.x >= grid[0] or core.y >= grid[1]:
        raise ArgumentError("TT320", f"core {tuple(core)} of a shard grid lies outside the {grid[0]} x {grid[1]} grid")
