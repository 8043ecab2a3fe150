"""Which block a unit is: the order of a schedule as expressions over the unit's number. Part of `partition_work`.

    row      bx = unit % 8, by = unit // 8
    column   bx = unit // 16, by = unit % 16
    z        block = z_order(unit, 8, 16), bx = block % 8, by = block // 8
    a box    bx = first_column + unit % columns, by = first_row + unit // columns

Rows count all block indices but the first: with three, by = row % 16 and bz = row // 16.
"""

from __future__ import annotations

from tilelang_tt.ir import scalar
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.scalar_calls import call
from tilelang_tt.schedule import Order

Indices = tuple[tuple[Var, Expr], ...]  # in this order: a value may depend on those before it
Blocks = tuple[tuple[Var, Expr], ...]  # block indices and their extents
Box = tuple[Var, ...]  # first column, columns, first row, rows; or nothing


def numbered_row_by_row(unit: Expr, blocks: Blocks) -> Indices:
    """The blocks as T.Kernel numbers them, the first index fastest."""
    indices: list[tuple[Var, Expr]] = []
    stride: Expr = scalar.const(1)
    for position, (var, extent) in enumerate(blocks):
        index = unit if scalar.int_value(stride) == 1 else scalar.quotient(unit, stride)
        if position + 1 < len(blocks):
            index = scalar.remainder(index, extent)
        indices.append((var, index))
        stride = scalar.simplify(stride * extent)
    return tuple(indices)


def numbered(order: Order, panel: int, unit: Var, blocks: Blocks, box: Box = ()) -> Indices:
    """Block indices of a unit: of the whole matrix of blocks, or of a core's box of it."""
    if len(blocks) < 2:
        first = [scalar.simplify(box[0] + unit) if box else unit for _ in blocks]
        return tuple((var, value) for (var, _), value in zip(blocks, first, strict=True))
    if order == "row" and not box:
        return numbered_row_by_row(unit, blocks)
    (column_var, columns), *others = blocks
    rows = scalar.product(extent for _, extent in others)
    if order == "z" and not box:
        block = scalar.var("block")
        return ((block, call("z_order", unit, columns, rows)), *numbered_row_by_row(block, blocks))
    wide, high = (box[1], box[3]) if box else (columns, rows)
    lets, column, row = _placed(order, panel, unit, wide, high)
    if box:
        column, row = scalar.simplify(box[0] + column), scalar.simplify(box[2] + row)
    if len(others) == 1:
        return (*lets, (column_var, column), (others[0][0], row))
    row_var = scalar.var("row")
    return (*lets, (column_var, column), (row_var, row), *numbered_row_by_row(row_var, tuple(others)))


def _placed(order: Order, panel: int, unit: Var, columns: Expr, rows: Expr) -> tuple[Indices, Expr, Expr]:
    """What is computed first; then the column and the row (`schedule_order.place`)."""
    if order == "row":
        return (), scalar.remainder(unit, columns), scalar.quotient(unit, columns)
    if order == "column":
        return (), scalar.quotient(unit, rows), scalar.remainder(unit, rows)
    if order == "z":
        block = scalar.var("block")
        value = call("z_order", unit, columns, rows)
        return ((block, value),), scalar.remainder(block, columns), scalar.quotient(block, columns)
    if order == "block-linear":
        return _in_panels(unit, columns, rows, panel)
    lets, row, column = _in_panels(unit, rows, columns, panel)
    return lets, column, row


def _in_panels(unit: Var, columns: Expr, rows: Expr, panel: int) -> tuple[Indices, Expr, Expr]:
    number, offset, high, across = (scalar.var(name) for name in ("panel", "in_panel", "panel_high", "across"))
    whole = scalar.simplify(columns * panel)
    lets = (
        (number, scalar.quotient(unit, whole)),
        (offset, scalar.remainder(unit, whole)),
        (high, scalar.choice((number + 1) * panel <= rows, scalar.const(panel), rows - number * panel)),
        (across, scalar.quotient(offset, high)),
    )
    turned = scalar.is_equal(scalar.floormod(number, 2), scalar.const(0))
    column = scalar.choice(turned, across, scalar.simplify(columns - 1 - across))
    return lets, column, scalar.simplify(number * panel + scalar.remainder(offset, high))
