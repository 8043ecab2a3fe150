"""Functions in scalar expressions: what a schedule needs beyond arithmetic.

z_order(unit, columns, rows)   number, row by row, of the block that is the unit-th in Morton order
argument(place)                a runtime argument of the kernel
listed_unit(list, place)       a word of the core's list of units, which lies in its L1 from address `list` on
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm import tirx

if TYPE_CHECKING:
    from tilelang_tt.ir.scalar import Expr

FUNCTIONS = {"z_order": 3, "argument": 1, "listed_unit": 2}  # and how many operands they take


def call(name: str, *args: Expr) -> Expr:
    made: Expr = tirx.call_pure_extern("int32", name, *args)
    return made


def call_parts(expr: Expr) -> tuple[str, list[Expr]] | None:
    """Name and operands, if `expr` is such a call."""
    if not isinstance(expr, tirx.Call) or str(getattr(expr.op, "name", "")) != "tirx.call_pure_extern":
        return None
    name, *args = expr.args
    return (str(name.value), args) if str(name.value) in FUNCTIONS else None


def called(expr: Expr) -> set[str]:
    """Names of the functions that occur in it."""
    found: list[Expr] = []
    tirx.stmt_functor.post_order_visit(expr, found.append)
    return {parts[0] for node in found if (parts := call_parts(node)) is not None}
