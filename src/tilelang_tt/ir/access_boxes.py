"""The elements of a tensor that an access covers, for the interpreter.

    Load A tiles (2, 4) 1 x 2    ->   rows 64 to 95, columns 128 to 191

An access without a guard promises to stay inside the tensor. One that does not is an error.
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang_tt.arch import TILE
from tilelang_tt.ir.buffers import TileAccess
from tilelang_tt.ir.layout import TensorLayout
from tilelang_tt.ir.scalar import Expr

Box = tuple[tuple[int, int], ...]  # (start, extent) of each axis, in elements
Evaluate = Callable[[Expr | int], int]


def tile_box(access: TileAccess, layout: TensorLayout, shape: tuple[int, ...], number: Evaluate) -> Box:
    """A box of tiles."""
    row, col, batch = map(number, (access.row, access.col, access.batch))
    _check(access, "row", row, access.rows, access.guard_rows, number(layout.row_tiles))
    _check(access, "column", col, access.cols, access.guard_cols, number(layout.col_tiles))
    _check(access, "batch", batch, 1, False, number(layout.batch))
    sides = (
        (layout.row_axis, row, access.height or access.rows * TILE, layout.row_window),
        (layout.col_axis, col, access.width or access.cols * TILE, layout.col_window),
    )
    box = {
        axis: (start * TILE if window is None else (start // window.tiles - window.before) * window.step, extent)
        for axis, start, extent, window in sides
        if axis is not None
    }
    others = [axis for axis in range(len(shape)) if axis not in box]
    return _with_number(box, others, batch, shape)


def row_box(access: TileAccess, layout: TensorLayout, shape: tuple[int, ...], number: Evaluate) -> Box:
    """Rows that have a page each, or one of them; those of a gather are found one by one."""
    assert access.pages is not None
    row = 0 if access.gather is not None else number(access.row)
    col = number(access.col)
    _check(access, "row", row, access.height, access.guard_rows, number(access.pages.extent))
    _check(access, "column", col, 1, access.guard_cols, layout.row_width)
    box = {} if layout.col_axis is None else {layout.col_axis: (col * TILE, access.width)}
    order = [axis for axis in range(len(shape)) if axis not in (layout.row_axis, layout.col_axis)]
    order += [] if layout.row_axis is None else [layout.row_axis]
    found = dict(enumerate(_with_number(box, order, number(access.batch), shape)))
    if access.pages.axis is not None:
        found[access.pages.axis] = (row, access.height)
    return tuple(found.values())


def _with_number(box: dict[int, tuple[int, int]], axes: list[int], number: int, shape: tuple[int, ...]) -> Box:
    """`box` with the place along the other axes that has this row-major number."""
    for axis in reversed(axes):
        number, index = divmod(number, shape[axis])
        box[axis] = (index, 1)
    return tuple(box[axis] for axis in range(len(shape)))


def _check(access: TileAccess, what: str, start: int, count: int, guarded: bool, end: int) -> None:
    if not guarded and not 0 <= start <= end - count:
        shown = f"tile {what} {start}..{start + count - 1}"
        raise IndexError(f"unguarded access of '{access.tensor.name}': {shown} of {end}")


def overlap(box: Box, shape: tuple[int, ...]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """The part of a box that is inside an array of `shape`: where in the array, and where in the box."""
    there, here = [], []
    for (start, extent), length in zip(box, shape, strict=True):
        first, last = max(start, 0), max(min(start + extent, length), max(start, 0))
        there.append(slice(first, last))
        here.append(slice(first - start, last - start))
    return tuple(there), tuple(here)
