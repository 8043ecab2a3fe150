"""The orders in which the blocks of a matrix are numbered, in plain numbers: what kernels compute from a unit.

    row        column     block-linear, panel 2      z
    0 1 2 3    0 3 6 9    0 2 4 6                    0  1  4  5
    4 5 6 7    1 4 7 10   1 3 5 7                    2  3  6  7
    8 9 ...    2 5 8 11   11 10 9 8                  8  9 10 11

`block-linear` goes down a panel of rows, then to the next column, and turns round in the next panel, as T.use_swizzle
does on a GPU; `block-linear-column` is the same with rows and columns exchanged. `z` sorts blocks by their Morton code:
the bits of column and row in turn, the column's first bit lowest.
"""

from __future__ import annotations

from tilelang_tt.schedule import Order


def place(order: Order, panel: int, unit: int, columns: int, rows: int) -> tuple[int, int]:
    """(column, row) of the block with this number."""
    if order == "row":
        return unit % columns, unit // columns
    if order == "column":
        return unit // rows, unit % rows
    if order == "block-linear":
        return _in_panels(unit, columns, rows, panel)
    if order == "block-linear-column":
        row, column = _in_panels(unit, rows, columns, panel)
        return column, row
    block = z_order(unit, columns, rows)
    return block % columns, block // columns


def _in_panels(unit: int, columns: int, rows: int, panel: int) -> tuple[int, int]:
    number, offset = divmod(unit, panel * columns)
    high = min(panel, rows - number * panel)
    across = offset // high
    return columns - 1 - across if number % 2 else across, number * panel + offset % high


def z_order(unit: int, columns: int, rows: int) -> int:
    """The number, row by row, of the block that comes at `unit` when columns x rows blocks are sorted by Morton code.

    Squares of a power of two are cut into quarters, and what lies outside the matrix is not counted.
    """
    column, row, side = 0, 0, 1
    while side < columns or side < rows:
        side *= 2
    while side > 1:
        side //= 2
        wide, high = min(2 * side, columns - column), min(side, rows - row)
        left = min(side, wide)
        if unit >= wide * high:  # beyond the upper two quarters
            unit -= wide * high
            row += side
            high = min(side, rows - row)
        if unit >= left * high:  # beyond the left one
            unit -= left * high
            column += side
    return row * columns + column
