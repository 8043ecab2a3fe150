"""Select the instruction for an operation, by kind of operand.

    x * 2       mul_unary_tile       tn    a number without a tile for it
    x * w[j]    sfpu_mul_bcast_row   tr    only the first row of w's tile is there; the instruction spreads it
    max(x, w)   binary_max_tile      tt    w's row is spread over a tile of its own before

What is computed only from rows and numbers is a row, too: what its other rows hold is never used.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Apply, ElementExpr, Number, Scalar, element_buffers, same_number
from tilelang_tt.ops import ELEMENT_OPS, Instruction
from tilelang_tt.ops.expressions import instructions, is_free
from tilelang_tt.ops.row import Operand


def select(expr: Apply, rows: Collection[Buffer] = ()) -> tuple[Instruction, tuple[ElementExpr, ...]]:
    """The vector unit's first instruction that suits the operands, and the operands in its order.

    `rows`: blocks of whose tiles only the first row comes to DST.
    """
    args = expr.args
    orders = [args, args[::-1]] if ELEMENT_OPS[expr.op].commutative else [args]
    suited = [row for row in instructions(expr) if not row.of_blocks]
    for row, order in ((row, order) for row in suited for order in orders):
        if all(_suits(row, kind, arg, rows) for kind, arg in zip(row.operands, order, strict=True)):
            return row, order
    for row in suited:  # that take a number: the other one is a tile full of a number
        if Operand.NUMBER in row.operands and isinstance(args[row.operands.index(Operand.NUMBER)], Number | Scalar):
            return row, args
    raise AssertionError(f"no instruction of '{expr.op}' takes tiles of {args[-1].dtype} alone")


def _suits(row: Instruction, kind: Operand, arg: ElementExpr, rows: Collection[Buffer]) -> bool:
    if kind is Operand.ROW:
        return _is_row(arg, rows)
    if kind is Operand.TILE:
        # A number in place of a tile costs a slot: only where no instruction takes the number itself.
        return Operand.NUMBER not in row.operands or not isinstance(arg, Number | Scalar)
    if isinstance(arg, Scalar):
        return row.number is None and row.prepare is None
    if not isinstance(arg, Number) or (row.finite and math.isinf(arg.value)):
        return False
    return row.number is None or same_number(row.number, arg.value)


def _is_row(expr: ElementExpr, rows: Collection[Buffer]) -> bool:
    """Whether a value is computed from rows, and is right only in the first row."""
    buffers = set(element_buffers(expr))
    return bool(buffers) and buffers.issubset(rows)


def left_as_rows(values: tuple[ElementExpr, ...], rows: Collection[Buffer]) -> set[Buffer]:
    """Those of `rows` whose every use is an instruction that spreads a row; the others must be spread before."""
    left = set(rows)
    while left:
        spread = {buffer for value in values for buffer in _used_whole(value, left)}
        if not spread:
            break
        left -= spread
    return left


def _used_whole(expr: ElementExpr, rows: Collection[Buffer]) -> Iterator[Buffer]:
    """Rows that an expression uses where a whole tile is needed, as its result is."""
    if _is_row(expr, rows):
        yield from element_buffers(expr)
    elif isinstance(expr, Apply) and is_free(expr):
        yield from _used_whole(expr.args[0], rows)
    elif isinstance(expr, Apply) and not expr.of_blocks:
        row, args = select(expr, rows)
        for kind, arg in zip(row.operands, args, strict=True):
            if kind is not Operand.ROW:
                yield from _used_whole(arg, rows)
