"""Numbers of tiles that generated kernels call by name: the sides of a circular buffer's blocks, and all their tiles.

The same of the sub-blocks that compute makes at a time, where these are all alike. And the sides of a tensor.

    cb_wait_front(cb_q, 4)                          cb_wait_front(cb_q, q_tiles)
    for kk < 2: matmul_block(..., kk * 2, ...)      for kk < q_cols: matmul_block(..., kk * k_cols, ...)
    read_page((by * 4 + i) * 16 + j, A, ...)        read_page((by * 4 + i) * A_tile_cols + j, A, ...)

An `Extent` is a number that knows which side of what it is. It is passed on where that side is meant; what is
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
    TILE_ROWS = "tile_rows"  # of a tensor: rows of tiles of one of its matrices
    TILE_COLS = "tile_cols"


OF_BLOCK = (Side.ROWS, Side.COLS, Side.TILES)
OF_SUB_BLOCK = (Side.SUB_ROWS, Side.SUB_COLS, Side.SUB_TILES)
OF_TENSOR = (Side.TILE_ROWS, Side.TILE_COLS)


class Extent(int):
    """A side of the blocks of the circular buffer with this number, or of the tensor with this name."""

    of: int | str
    side: Side

    @property
    def key(self) -> tuple[int | str, Side]:
        """What tells it from other extents, which may be as large. Two tensors may have one name, but not one size."""
        return self.of, self.side


def extent(value: int, of: int | str, side: Side) -> int:
    """A number with a name. One tile needs none, and what has one keeps it."""
    if value == 1 or isinstance(value, Extent):
        return value
    made = Extent(value)
    made.of, made.side = of, side
    return made


def whole(part: int, side: int) -> int:
    """The length of a part of a block: by the name of the block's side if it is all of it."""
    return side if part == side else part
