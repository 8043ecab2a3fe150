"""What readers and writers do between DRAM and L1: statements of `ir/kernel.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from tilelang_tt.ir.buffers import Tensor
from tilelang_tt.ir.cb import Cb
from tilelang_tt.ir.fields import DEFINES, PLACE
from tilelang_tt.ir.layout import Constant, MaskTile
from tilelang_tt.ir.scalar import Expr, Var


@dataclass(frozen=True)
class Pointer:
    """var = L1 address of the block being filled (`write`) or drained."""

    var: Var = field(metadata=DEFINES)
    cb: Cb
    write: bool


@dataclass(frozen=True)
class MakeTile:
    """Write a constant tile, element by element, to place `slot` of the block at `base`."""

    constant: Constant | MaskTile
    cb: Cb
    base: Var
    slot: Expr = field(metadata=PLACE)


@dataclass(frozen=True)
class ReadTable:
    """var = word `index` of a table in L1: at `base` for a data-movement kernel, by its buffer for compute.

    Where there is room for one page of the table only, `page` says which one it is; another one is fetched.
    """

    var: Var = field(metadata=DEFINES)
    table: Tensor
    index: Expr
    cb: Cb | None = None  # from `load_tables`
    base: Var | None = None
    page: Var | None = None


@dataclass(frozen=True)
class Half:
    """Half of a tile: the upper one (0) or the lower one (1); `sideways` the left or the right one."""

    number: Expr
    sideways: bool


@dataclass(frozen=True)
class ReadTile:
    """Start reading a page of a tensor, or the first row of its tile, to place `slot` of the block at `base`.

    A page that is half a tile is read to that `half` of the place.
    """

    tensor: Tensor
    page: Expr
    cb: Cb
    base: Var
    slot: Expr = field(metadata=PLACE)
    first_row: bool = False
    half: Half | None = None


@dataclass(frozen=True)
class RowPlace:
    """Row `row` of the block at `base`: `tiles` tiles side by side, `row_step` and `col_step` tiles apart."""

    cb: Cb
    base: Var
    row: Expr = field(metadata=PLACE)
    tiles: int
    row_step: int
    col_step: int


@dataclass(frozen=True)
class RoomRow:
    """Row `row` of the room for rows `cb` at `base`: that of `tiles` tiles, as they are in `block`."""

    cb: Cb
    base: Var
    row: Expr
    tiles: int
    block: Cb


@dataclass(frozen=True)
class ReadRow:
    """Start reading a row of a tensor, from tile column `col` on, to the room for rows."""

    tensor: Tensor
    page: Expr
    col: Expr
    room: RoomRow


@dataclass(frozen=True)
class BlankRow:
    """Start filling a row of the room with zeros."""

    room: RoomRow


@dataclass(frozen=True)
class PlaceRow:
    """Start moving a row of the room, which has landed there, to a row of a block."""

    room: RoomRow
    place: RowPlace


@dataclass(frozen=True)
class ZeroRow:
    place: RowPlace


@dataclass(frozen=True)
class WriteRow:
    tensor: Tensor
    page: Expr
    col: Expr
    place: RowPlace


@dataclass(frozen=True)
class ZeroTile:
    """Start filling place `slot` of the block at `base`, or half of it, with zeros."""

    cb: Cb
    base: Var
    slot: Expr = field(metadata=PLACE)
    half: Half | None = None


@dataclass(frozen=True)
class WriteTile:
    """Start writing place `slot` of the block at `base`, or half of it, to a page of a tensor."""

    tensor: Tensor
    page: Expr
    cb: Cb
    base: Var
    slot: Expr = field(metadata=PLACE)
    half: Half | None = None


@dataclass(frozen=True)
class Ask:
    """A core that gets the next block from another one tells it that there is room.

    `turn`: which of the owners of a tensor's shards has the block; None: one core of a group reads and sends all.
    """

    cb: Cb
    turn: Expr | None = None


@dataclass(frozen=True)
class ShardPart:
    """A block in the core's shard of a tensor: `rows` runs of `cols` tiles, `pitch` apart, the first one at `place`."""

    tensor: Tensor
    place: Expr
    rows: int
    cols: int
    pitch: int


@dataclass(frozen=True)
class Send:
    """A core that reads a block for others sends it from `base` on when all have room; it has left L1 then.

    With a `shard` the core whose turn it is sends a part of it to `base`, on all of them and itself: nothing is read.
    """

    cb: Cb
    base: Var
    turn: Expr | None = None
    shard: ShardPart | None = None


@dataclass(frozen=True)
class Take:
    """A core that gets the block from another one waits until it is there."""

    cb: Cb
    turn: Expr | None = None


class BarrierKind(Enum):
    READ = "noc_async_read_barrier"
    FLUSH = "noc_async_writes_flushed"
    WRITE = "noc_async_write_barrier"
    SIGNAL = "noc_async_atomic_barrier"


@dataclass(frozen=True)
class Barrier:
    kind: BarrierKind


DeliveryStmt = Ask | Send | Take
MovementStmt = (
    Pointer
    | MakeTile
    | ReadTable
    | ReadTile
    | ReadRow
    | BlankRow
    | PlaceRow
    | ZeroRow
    | WriteRow
    | ZeroTile
    | WriteTile
    | DeliveryStmt
    | Barrier
)
