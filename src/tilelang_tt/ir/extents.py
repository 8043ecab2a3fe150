"""Numbers of tiles that generated kernels call by name: the sides of a circular buffer's blocks, and all their tiles.

The same of the sub-blocks that compute makes at a time, where these are all alike.

    cb_wait_front(cb_q, 4)                          cb_wait_front(cb_q, q_tiles)
    for kk < 2: matmul_block(..., kk * 2, ...)      for kk < q_cols: matmul_block(..., kk * k_cols, ...)

An `Extent` is a number that knows which side of which buffer it is. It is passed on where that side is meant; what is
computed from it is a plain number again, so a name never says more than is known. Passes and checks see the number.
"""

from __future__ import annotations

from enum import Enum


class Side(Enum):
    ROWS = "rows"
    COLS = "cols"
    TILES = "tiles"
    SUB_ROWS = "sub_rows"  # of what is computed at a time
    SUB_COLS = "sub_cols"
    SUB_TILES = "sub_tiles"


OF_BLOCK = (Side.ROWS, Side.COLS, Side.TILES)
OF_SUB_BLOCK = (Side.SUB_ROWS, Side.SUB_COLS, Side.SUB_TILES)


class Extent(int):
    """A side of the blocks of the circular buffer with this number."""

    cb: int
    side: Side

    @property
    def key(self) -> tuple[int, Side]:
        """What tells it from other extents, which may be as large."""
        return self.cb, self.side


def extent(value: int, cb: int, side: Side) -> int:
    """A number with a name. One tile needs none, and what has one keeps it."""
    if value == 1 or isinstance(value, Extent):
        return value
    made = Extent(value)
    made.cb, made.side = cb, side
    return made


def whole(part: int, side: int) -> int:
    """The length of a part of a block: by the name of the block's side if it is all of it."""
    return side if part == side else part
