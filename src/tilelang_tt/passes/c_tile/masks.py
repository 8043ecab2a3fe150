"""Conditions on positions as constant tiles: part of `lower_positions`.

    where([i + -1 * j + bx * 64 + -64 * n] >= 0, 0, -inf)      in a block that it divides: bx == n
    mask[tile (tile_row < tile_col ? 0 : (tile_row < tile_col + 1 ? 1 : 2))]
         0: all -inf    1: 0 where i - j >= 0, else -inf    2: all 0

Tiles differ by the position of their first element. If the border of the condition crosses only a few kinds of tiles,
each kind gets a constant tile; one more serves all tiles before the border, and one all tiles behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tilelang_tt.arch import TILE
from tilelang_tt.ir import scalar
from tilelang_tt.ir.elements import TILE_COL, TILE_ROW, Apply, Index
from tilelang_tt.ir.layout import BufferLayout, Mask, MaskTile
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.scalar_forms import without_difference

MAX_TILES = 4  # of a mask: 8 KiB of L1


@dataclass(frozen=True)
class Border:
    """A condition on positions: row * i + col * j + base >= 0."""

    row: int
    col: int
    base: Expr

    def reach(self, rows: int, cols: int) -> tuple[int, int]:
        """The least and the most that a place adds to the base, in a block of these rows and columns."""
        ends = (self.row * (rows - 1), self.col * (cols - 1))
        return sum(min(0, end) for end in ends), sum(max(0, end) for end in ends)


def border_of(condition: Apply, layout: BufferLayout) -> Border | None:
    """A comparison of a position with zero, if it depends on row and column of the block only."""
    index = condition.args[0]
    assert isinstance(index, Index)
    sides = (layout.row_axis, layout.col_axis)
    if any(factor for axis, factor in enumerate(index.factors) if axis not in sides):
        return None
    row, col = (0 if axis is None else index.factors[axis] for axis in sides)
    if condition.op in ("ge", "gt"):
        return Border(row, col, index.base if condition.op == "ge" else index.base - 1)
    return Border(-row, -col, -index.base if condition.op == "le" else -index.base - 1)


def mask(border: Border, yes: float, no: float, layout: BufferLayout, *, divided: bool) -> tuple[Mask, Expr] | None:
    """The tiles, and which one to take; None if there are too many. `divided`: the border goes through the block."""
    only = _only_base(border, layout) if divided else None
    base = scalar.simplify(border.base) if only is None else scalar.const(only)
    place = scalar.simplify(base + (TILE_ROW * border.row + TILE_COL * border.col) * TILE)
    step, rest = scalar.modular(place)
    step = step or 2 * TILE  # all tiles begin at the same place
    least, most = border.reach(TILE, TILE)
    first = -most + (rest + most) % step
    offsets = range(first - step, -least + step, step)
    if len(offsets) > MAX_TILES:
        return None
    known = scalar.int_value(base)
    if known is not None:
        ends = (known + TILE * end for end in border.reach(layout.rows, layout.cols))
        low, high = (min(max(0, (end - offsets[0]) // step), len(offsets) - 1) for end in ends)
        offsets = offsets[low : high + 1]
    number = scalar.simplify(scalar.floordiv(place - rest, step))
    tiles = (MaskTile(offset, border.row, border.col, yes, no) for offset in offsets)
    return Mask(tuple(tile.simplest for tile in tiles)), _chosen(
        number, [(offset - rest) // step for offset in offsets]
    )


def is_bfloat16(value: float) -> bool:
    """Whether a number has no more bits than a bfloat16."""
    return bool(np.float32(value) == value) and int(np.float32(value).view(np.uint32)) & 0xFFFF == 0


def _only_base(border: Border, layout: BufferLayout) -> int | None:
    """The one number that the base can be if the border goes through the block."""
    step, rest = scalar.modular(border.base)
    least, most = border.reach(layout.rows * TILE, layout.cols * TILE)
    step = step or most - least + 1
    found = range(-most + (rest + most) % step, -least, step)
    return found[0] if len(found) == 1 else None


def _chosen(number: Expr, numbers: Iterable[int]) -> Expr:
    """The index of a number in a list, clamped to its first and last."""
    *others, _ = enumerate(numbers)
    result = scalar.const(len(others))
    for place, at in reversed(others):
        test = without_difference(scalar.simplify(number < at + 1))
        result = scalar.choice(test, scalar.const(place), result)
    return result
