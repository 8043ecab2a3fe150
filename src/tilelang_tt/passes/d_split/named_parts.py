"""Parts of a block whose sides have names: those of the block where they are as long, or its sub-blocks'.

And where a block begins in its tensor, in blocks: `bx * A_shared_rows`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.extents import Extent, Side, whole
from tilelang_tt.ir.kernel import KernelSet
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.scalar_extents import with_factor
from tilelang_tt.ir.section import SubBlock


@dataclass(frozen=True)
class Part:
    rows: int
    cols: int
    tiles: int


def part_of(kernels: KernelSet, buffer: Buffer, part: SubBlock, rows: int, cols: int) -> Part:
    """Tiles of a block that are in DST at once; `rows` and `cols` are the sides of what they are a part of."""
    cb = kernels.cbs.get(buffer)
    known = (part.rows, part.cols, part.tiles)
    if cb is not None and cb.sub == known[:2]:
        known = (*cb.sub, cb.side(Side.SUB_TILES))
    high, wide, tiles = whole(known[0], rows), whole(known[1], cols), known[2]
    if part.tiles == rows * cols:
        tiles = kernels.tiles(buffer)
    elif high == 1 or wide == 1:
        tiles = wide if high == 1 else high
    return Part(high, wide, tiles)


def run_of(kernels: KernelSet, buffer: Buffer, count: int, tiles: int) -> Part:
    """Tiles that follow each other in a block of so many; they go by rows and columns of no block."""
    cb = kernels.cbs.get(buffer)
    if not isinstance(found := whole(count, tiles), Extent) and cb is not None and cb.sub == (1, count):
        found = cb.side(Side.SUB_TILES)
    return Part(1, found, found)


def place_in_blocks(place: Expr, side: int) -> Expr:
    """The first tile of a box of a tensor along one axis, `side` tiles long, which counts in such boxes.

    A place that is always a multiple of the side says which box it is, of those that lie side by side from the first
    tile on. So a factor as large as the side is the side. Where boxes overlap or leave room between, it is a number.
    """
    if not isinstance(side, Extent) or scalar.granularity(place) % side:
        return place
    return with_factor(place, side)
