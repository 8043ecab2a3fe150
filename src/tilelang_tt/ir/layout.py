"""Facts that passes attach to the tile program: tiles of tensors and buffers, circular buffers, work."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum

from tilelang_tt.arch import TILE
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Tensor
from tilelang_tt.ir.extents import OF_TENSOR, Side, extent
from tilelang_tt.ir.scalar import Expr, Var, int_value
from tilelang_tt.schedule import Schedule
from tilelang_tt.shards import Shards, shards_over


class TileOrder(Enum):
    """Order of a block's tiles inside its circular buffer."""

    ROWS = "rows"  # tile (r, c) at r * cols + c
    COLUMNS = "columns"  # tile (r, c) at c * rows + r


@dataclass(frozen=True)
class Window:
    """An axis kept as windows of `extent` elements, one every `step`, each in tiles of its own."""

    step: int
    extent: int
    before: int = 0  # windows that begin before the axis and reach into it

    @property
    def tiles(self) -> int:
        return -(-self.extent // TILE)


class DeviceMemory(Enum):
    """Where the pages of a tensor lie."""

    DRAM = "DRAM"
    L1 = "L1"


@dataclass(frozen=True)
class Placement:
    """The memory of a tensor, if that is not DRAM with pages dealt to all banks in turn.

    Without a shard the pages are dealt to all banks, or to the L1 of all cores, in turn. Otherwise `pages` is their
    grid (matrices, rows, columns), each shard is a box of it, and shards are dealt to `cores` in turn, row by row.
    """

    memory: DeviceMemory
    pages: tuple[Expr, ...] = ()
    shard: tuple[Expr, ...] = ()
    cores: tuple[tuple[int, int], ...] = ()  # (x, y); of DRAM: (bank, 0)

    @property
    def is_sharded(self) -> bool:
        return bool(self.shard)

    def shards(self) -> Shards | None:
        """In numbers; None: there are none, or sizes are known at run time alone."""
        sizes = [size for side in (*self.pages, *self.shard) if (size := int_value(side)) is not None]
        if len(sizes) < 6:
            return None
        count, rows, cols, deep, high, wide = (max(1, size) for size in sizes)
        return shards_over((count, rows, cols), (deep, high, wide), self.cores)


@dataclass(frozen=True)
class HalfTiles:
    """Pages are halves of tiles: upper and lower ones of 16 x 32 elements, or left and right ones of 32 x 16.

    Kernels compute with whole tiles: they put them together from two pages, and take them apart. `count` is the number
    of pages along the side that is halved; of the last tile there may be one half only.
    """

    height: int
    width: int
    count: Expr

    @property
    def sideways(self) -> bool:
        """Whether a tile is a left and a right half."""
        return self.width < TILE


KEPT_PAGES = 8  # of a table: 32 KiB of L1 for each kernel that uses it


def _named(tiles: Expr, tensor: Tensor, side: Side) -> Expr:
    count = int_value(tiles)
    return tiles if count is None else scalar.const(extent(count, tensor.name, side))


@dataclass(frozen=True)
class TensorLayout:
    """Which axes of a tensor are tile rows and columns, and the format in device memory.

    Along an axis that is None the values are repeated: all rows, or all columns, of its tiles are equal.
    """

    row_axis: int | None
    col_axis: int | None
    row_tiles: Expr
    col_tiles: Expr
    batch: Expr
    format: str
    page_bytes: int
    by_rows: bool = False  # no tiles: a page holds what lies along the column axis; `row_tiles` counts rows
    row_width: int = 0  # of such a row, in tiles; its page may have room behind
    table: bool = False  # no tiles: 32-bit words in row-major order, 1024 to a page
    flat: bool = False  # no tiles: elements in row-major order, in the bytes of their own type, 4096 to a page
    row_window: Window | None = None  # None: tiles follow each other along the axis
    col_window: Window | None = None
    placement: Placement | None = None  # None: DRAM, pages dealt to all banks in turn
    halves: HalfTiles | None = None  # None: a page is a tile

    @property
    def tile_bytes(self) -> int:
        """Of a whole tile."""
        return self.page_bytes if self.halves is None else 2 * self.page_bytes

    @property
    def tile_shape(self) -> tuple[int, int]:
        """Rows and columns of a page that holds elements of a matrix."""
        return (TILE, TILE) if self.halves is None else (self.halves.height, self.halves.width)

    @property
    def page_grid(self) -> tuple[Expr, Expr]:
        """Pages of a matrix downwards and sideways."""
        if self.halves is None:
            return self.row_tiles, self.col_tiles
        return (self.row_tiles, self.halves.count) if self.halves.sideways else (self.halves.count, self.col_tiles)

    def named_grid(self, tensor: Tensor) -> tuple[Expr, Expr]:
        """`page_grid`, with names for numbers of tiles that are known. Halves of tiles have none."""
        (high, wide), (rows, cols) = self.page_grid, OF_TENSOR
        if high is self.row_tiles:
            high = _named(high, tensor, rows)
        return high, _named(wide, tensor, cols) if wide is self.col_tiles else wide

    @property
    def in_tiles(self) -> bool:
        """Whether pages are tiles, one after the other along both axes of the tensor."""
        apart = self.row_window is not None or self.col_window is not None
        return not (self.by_rows or self.table or self.flat or apart)

    @property
    def kept(self) -> bool:
        """Whether kernels keep a table in L1 as a whole; of another they fetch the page they need."""
        pages = int_value(self.row_tiles)
        return pages is not None and pages <= KEPT_PAGES


class Engine(Enum):
    MATRIX = "matrix engine"
    VECTOR = "vector unit"


@dataclass(frozen=True)
class BufferLayout:
    """A buffer as tiles.

    A vector is a matrix whose columns (`col_axis` None) or rows (`row_axis` None) are all the same: one tile wide or
    high, and every lane of the tile holds the value, so that it meets matrices element by element.
    """

    rows: int
    cols: int
    format: str
    page_bytes: int
    order: TileOrder = TileOrder.ROWS
    row_axis: int | None = 0
    col_axis: int | None = 1
    outer: tuple[int, ...] = ()  # extents of the axes before these: matrices one after the other
    constant: bool = False  # made by the reader: all tiles are the same and stored once, or `Element.tile` says which
    first_row: Engine | None = None  # the rows of its tiles are all equal, only the first is there; who spreads it
    first: Var | None = None  # stands for the place of its first tile, where it lies in a pool or in a shard
    pitch: int | Var = 0  # tiles from one row to the next, where it is a part of a shard; 0: its rows follow each other
    exact: bool = False  # 32-bit floats are taken in with all their bits, whatever is made of them

    @property
    def is_part(self) -> bool:
        """Whether its rows may be apart; where the call says how far, they may also follow each other."""
        return scalar.is_expr(self.pitch) or self.pitch != 0

    @property
    def row_step(self) -> int | Var:
        """Tiles from one row to the next, in the order of rows."""
        return self.pitch if self.is_part else self.cols

    @property
    def known_step(self) -> int | None:
        """The same, where it does not depend on the call."""
        return None if scalar.is_expr(self.row_step) else self.row_step

    @property
    def tiles(self) -> int:
        return math.prod(self.outer) * self.rows * self.cols

    def offset(self, origin: tuple[Expr, ...]) -> Expr:
        """Position of the first tile of a part that begins at `origin`, counted from the first of the block."""
        matrix: Expr | int = 0
        for length, start in zip(self.outer, origin, strict=False):
            matrix = matrix * length + start
        row, col = (
            0 if axis is None else scalar.floordiv(origin[axis], TILE) for axis in (self.row_axis, self.col_axis)
        )
        within = row * self.row_step + col if self.order is TileOrder.ROWS else col * self.rows + row
        return scalar.simplify(scalar.as_expr(matrix * (self.rows * self.cols) + within))

    def index(self, row: Expr | int, col: Expr | int) -> Expr:
        """Position of a tile of the block."""
        if self.constant:
            return scalar.const(0)
        row, col = (0 if self.rows == 1 else row), (0 if self.cols == 1 else col)
        if self.order is TileOrder.ROWS:
            return self._at(row * scalar.as_expr(self.row_step) + col)
        return self._at(col * scalar.as_expr(self.rows) + row)

    def at(self, tile: Expr | int) -> Expr:
        """Position of the block's tile number `tile`."""
        if self.is_part:
            return self.index(scalar.floordiv(tile, self.cols), scalar.floormod(tile, self.cols))
        return self._at(tile)

    def _at(self, place: Expr | int) -> Expr:
        return scalar.as_expr(place if self.first is None else self.first + place)


@dataclass(frozen=True)
class Constant:
    """A tile that the reader makes once, before the first unit: element (i, j) is base + row * i + col * j."""

    base: int = 0
    row: int = 0
    col: int = 0


@dataclass(frozen=True)
class MaskTile:
    """A tile that the reader makes once: element (i, j) is `yes` where offset + row * i + col * j >= 0, else `no`."""

    offset: int
    row: int
    col: int
    yes: float
    no: float

    @property
    def uniform(self) -> float | None:
        """The one number that is everywhere in it, if there is one."""
        ends = ((TILE - 1) * self.row, (TILE - 1) * self.col)
        least, most = (self.offset + sum(end(0, side) for side in ends) for end in (min, max))
        return self.yes if least >= 0 else self.no if most < 0 else None

    @property
    def simplest(self) -> MaskTile:
        """The same tile; without a border where it has none."""
        return self if self.uniform is None else MaskTile(0, 0, 0, self.uniform, self.uniform)


@dataclass(frozen=True)
class Mask:
    """The tiles that a condition on positions needs."""

    tiles: tuple[MaskTile, ...]


ONES = Constant(base=1)
ZEROS = Constant()


class Role(Enum):
    READER = "reader"
    COMPUTE = "compute"
    WRITER = "writer"


@dataclass(frozen=True)
class Owners:
    """Cores that send blocks from their shards to all that need them: `count` of those that need the same, in turn."""

    count: int
    by_columns: bool  # the turn follows from the column of a block in the tensor; otherwise from its row
    cores: tuple[tuple[int, int], ...]  # that hold shards, in the order of these


@dataclass(frozen=True)
class Stream:
    """The circular buffer a buffer becomes: who fills it, who drains it, how many blocks deep."""

    producer: Role
    consumer: Role
    depth: int
    unpack_to_dest: bool = False
    second_view: bool = False  # the same pages under a second number, unpacked to DST
    once: bool = False  # filled before the first unit, and kept for all
    shard: Tensor | None = None  # its pages are the core's own shard of this tensor: nothing is moved
    shard_at_call: Tensor | None = None  # the same if the call's sizes allow it; else its blocks are moved
    found_at_call: bool = False  # they allow it, too, where compute finds the blocks in the shard
    in_order_at_call: bool = False  # and where the blocks of a core are its shard, one after the other
    follows: tuple[Var, ...] | None = None  # block indices that tell its blocks apart; None: every core reads its own
    owners: Owners | None = None  # of a block that one core sends to others: who does; None: a core that reads it

    @property
    def may_be_shard(self) -> bool:
        return self.shard is not None or self.shard_at_call is not None

    @property
    def finds_blocks(self) -> bool:
        """Whether the whole shard is kept, and compute finds each block in it."""
        return self.once and self.shard is not None

    @property
    def private(self) -> bool:
        """Owned by the compute kernel alone."""
        return self.producer is Role.COMPUTE and self.consumer is Role.COMPUTE

    @property
    def is_scratch(self) -> bool:
        """Room for scalar code, which the writer carries out."""
        return self.producer is Role.WRITER and self.consumer is Role.WRITER


@dataclass(frozen=True)
class Pool:
    """Blocks of compute's own that share one circular buffer, one after the other."""

    whole: Buffer  # stands for all of them
    blocks: dict[Buffer, int]  # and the place of their first tiles


@dataclass(frozen=True)
class Work:
    """How grid blocks become units of work, and units are shared by cores."""

    units: Expr
    unit: Var
    indices: tuple[tuple[Var, Expr], ...]  # in this order: block variable = expression over `unit` and those before it
    grid: tuple[int, int]  # cores (x, y), from (0, 0) to the last one that is used
    schedule: Schedule = field(default_factory=Schedule)
    box: tuple[Var, ...] = ()  # of a core: first column, columns, first row, rows of the matrix of blocks
    listed: Var | None = None  # the units of the core: place of the first in its runtime arguments, or address in L1

    @property
    def cores(self) -> int:
        return len(self.schedule.cores(self.grid))

    @property
    def words(self) -> tuple[Var, ...]:
        """What kernels are told of their core's share, beside a run of units."""
        return self.box if self.listed is None else (self.listed,)
