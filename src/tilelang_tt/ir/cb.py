"""Circular buffers of the three kernels, and the calls that move their fronts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tilelang_tt.diagnostics import Location
from tilelang_tt.ir.buffers import Tensor
from tilelang_tt.ir.extents import Side, extent
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.scalar import Var


@dataclass(frozen=True)
class PoolBlock:
    """One of several blocks of a circular buffer: `tiles` from `place` on, which statements call `first`."""

    first: Var
    place: int
    tiles: int


@dataclass(frozen=True)
class InShard:
    """What the call says of a circular buffer in whose shard compute may find blocks.

    Where it does, the shard is handed over as a whole, outside the loops, and calls for a block ask for no page.
    """

    block: Var  # pages of a block; 0: compute finds it in the shard
    shard: Var  # pages of the shard; 0: blocks are handed over one by one
    pitch: Var | None = None  # pages from one row of a block to the next; None: its rows follow each other in any case


@dataclass(frozen=True, eq=False)
class Cb:
    """A circular buffer: `depth` blocks of `tiles` pages."""

    id: int
    name: str
    format: str
    page_bytes: int
    tiles: int
    depth: int
    producer: Role
    consumer: Role
    unpack_to_dest: bool
    shape: tuple[int, int]  # tiles of a block
    location: Location | None
    sub: tuple[int, int] | None = None  # sides of the sub-blocks that compute makes at a time, if they are all alike
    shares: int | None = None  # a second view: number of the buffer whose pages these are
    first_row: bool = False  # only the first row of its tiles is there
    pool: tuple[PoolBlock, ...] = ()  # compute's own blocks that lie in it, if there are several
    is_word: bool = False  # it only says that reader or writer has come to a place: its page is never filled
    is_scratch: bool = False  # room for scalar code: its blocks, and lines of the tensors it uses
    is_row_room: bool = False  # rows of tensors wait there for their places in tiles: `ir/row_room.py`
    shard: Tensor | None = None  # its pages are the core's own shard of this tensor
    shard_at_call: Tensor | None = None  # the same if the call's sizes allow it, and then `moves` is 0
    moves: Var | None = None  # 1 where its blocks are moved, 0 where its pages are the shard; known at the call
    found: InShard | None = None  # compute finds the blocks there if the call's sizes allow it
    reads: Var | None = None  # 1 on a core that reads its blocks, 0 where another core sends them; None: all read
    ready: int | None = None  # semaphore of the sender: receivers that have room for the next block
    owners: int = 0  # cores that send blocks from their shards, in turn; 0: one core of a group reads and sends
    valid: int | None = None  # semaphore of a receiver: 1 when the block is there

    def __post_init__(self) -> None:
        """Its blocks' sides have names, where they are blocks of tiles."""
        if self.is_word or self.is_scratch or self.is_row_room:
            return
        rows, cols = self.shape
        if not self.pool:
            sides = (extent(rows, self.id, Side.ROWS), extent(cols, self.id, Side.COLS))
            object.__setattr__(self, "shape", sides)
        if self.sub is not None:
            named = (extent(self.sub[0], self.id, Side.SUB_ROWS), extent(self.sub[1], self.id, Side.SUB_COLS))
            object.__setattr__(self, "sub", named)
        object.__setattr__(self, "tiles", extent(self.tiles, self.id, Side.TILES))

    def side(self, side: Side) -> int:
        """By name."""
        rows, cols = self.sub or (1, 1)
        sides = {
            **dict(zip((Side.ROWS, Side.COLS), self.shape, strict=True)),
            Side.TILES: self.tiles,
            Side.SUB_ROWS: rows,
            Side.SUB_COLS: cols,
            Side.SUB_TILES: extent(rows * cols, self.id, Side.SUB_TILES),
        }
        return sides[side]

    @property
    def pages(self) -> int:
        return self.tiles * self.depth

    @property
    def bytes(self) -> int:
        return 0 if self.shares is not None or self.shard is not None else self.pages * self.page_bytes


class CbKind(Enum):
    RESERVE = "cb_reserve_back"
    PUSH = "cb_push_back"
    WAIT = "cb_wait_front"
    POP = "cb_pop_front"


@dataclass(frozen=True)
class CbCall:
    kind: CbKind
    cb: Cb
    pages: int
    count: Var | None = None  # stands for the number of pages where the call decides it


def of_block(kind: CbKind, cb: Cb) -> CbCall:
    """A call for one block."""
    return CbCall(kind, cb, cb.tiles, None if cb.found is None else cb.found.block)


def of_shard(kind: CbKind, cb: Cb) -> CbCall:
    """A call for the whole shard, where compute finds blocks in it: none as long as they are moved."""
    return CbCall(kind, cb, cb.tiles) if cb.found is None else CbCall(kind, cb, 0, cb.found.shard)
