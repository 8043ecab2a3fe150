"""Scalar expressions taken apart and put together: what generic statements ask of their indices."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tvm import tirx

from tilelang_tt.ir.scalar import (
    BINARY,
    ORDERED,
    Expr,
    Var,
    choice,
    const,
    equal,
    floordiv,
    floormod,
    int_value,
    is_var,
    is_whole,
    nodes,
    simplify,
    variables,
)
from tilelang_tt.ir.scalar_calls import call, call_parts

if TYPE_CHECKING:
    from tilelang_tt.ir.scalar import Binary


def orders(expr: Expr) -> list[Expr]:
    """Comparisons of order in an expression."""
    return nodes(expr, *ORDERED)


def conditions(test: Expr) -> list[Expr]:
    """Conditions that all have to hold for a test to do so."""
    return [*conditions(test.a), *conditions(test.b)] if isinstance(test, tirx.And) else [test]


def same_test(a: Expr, b: Expr) -> bool:
    """Whether two comparisons of order of whole numbers are the same, however they are written."""
    below, other = _below_zero(a), _below_zero(b)
    return below is not None and other is not None and equal(below, other)


def _below_zero(test: Expr) -> Expr | None:
    """What is below zero where a comparison of order holds."""
    if not isinstance(test, ORDERED) or not is_whole(test.a):
        return None
    less, more = (test.a, test.b) if isinstance(test, tirx.LT | tirx.LE) else (test.b, test.a)
    return less - more - (1 if isinstance(test, tirx.LE | tirx.GE) else 0)


def without_difference(test: Expr) -> Expr:
    """`a - b < c` as `a < b + c`: an order of numbers that are not below zero, where a, b and c are not."""
    while isinstance(test, ORDERED) and isinstance(test.a, tirx.Sub):
        test = type(test)(test.a.a, simplify(test.a.b + test.b))
    while isinstance(test, ORDERED) and isinstance(test.b, tirx.Sub):
        test = type(test)(simplify(test.b.b + test.a), test.b.a)
    return test


def divisions(expr: Expr) -> list[tuple[bool, Expr, int]]:
    """Divisions by numbers in an expression: whether the quotient or the remainder is taken, of what, and by what."""
    found = (
        (isinstance(node, tirx.FloorDiv), node.a, int_value(node.b))
        for node in nodes(expr, tirx.FloorDiv, tirx.FloorMod)
    )
    return [(kind, a, by) for kind, a, by in found if by is not None]


_OPERATIONS: dict[str, Callable[..., Expr]] = {
    "add": tirx.Add,
    "sub": tirx.Sub,
    "mul": tirx.Mul,
    "floor_div": tirx.FloorDiv,
    "floor_mod": tirx.FloorMod,
    "max": tirx.Max,
    "min": tirx.Min,
    "eq": tirx.EQ,
    "ne": tirx.NE,
    "lt": tirx.LT,
    "le": tirx.LE,
    "gt": tirx.GT,
    "ge": tirx.GE,
    "and": tirx.And,
    "or": tirx.Or,
    "not": tirx.Not,
    "trunc_div": tirx.Div,
    "trunc_mod": tirx.Mod,
    "where": tirx.Select,
}


def computed(op: str, *operands: Expr) -> Expr | None:
    """An operation on whole numbers or truth values; None if scalars do not have it."""
    return _OPERATIONS[op](*operands) if op in _OPERATIONS else None


def row_major_number(indices: Iterable[Expr], shape: Iterable[Expr | int]) -> Expr:
    """The number of the element that has these indices, counted row by row."""
    number = const(0)
    for extent, index in zip(shape, indices, strict=True):
        number = number * extent + index
    return simplify(number)


def row_major(number: Expr, shape: tuple[int, ...]) -> tuple[Expr, ...]:
    """The indices of the element that has a number, counted row by row."""
    indices: list[Expr] = []
    for extent in reversed(shape[1:]):
        indices.insert(0, simplify(floormod(number, extent)))
        number = floordiv(number, extent)
    return (simplify(number), *indices) if shape else ()


def before_cast(expr: Expr) -> Expr | None:
    """What a cast converts."""
    return expr.value if isinstance(expr, tirx.Cast) else None


def hoist(expr: Expr, known: set[Var], name: Callable[[Expr], Var]) -> Expr:
    """`expr` with every largest compound part over `known` variables alone replaced by `name(part)`."""
    binary: tuple[type[Binary], ...] = (*BINARY, tirx.Min, tirx.Max)
    used = variables(expr)
    if is_var(expr) or known.isdisjoint(used):
        return expr
    if all(variable in known for variable in used) and str(expr.dtype) != "bool":
        return name(expr)
    if isinstance(expr, binary):
        return type(expr)(hoist(expr.a, known, name), hoist(expr.b, known, name))
    if (parts := call_parts(expr)) is not None:
        return call(parts[0], *(hoist(arg, known, name) for arg in parts[1]))
    if isinstance(expr, tirx.Select):
        test, yes, no = (hoist(part, known, name) for part in (expr.condition, expr.true_value, expr.false_value))
        return choice(test, yes, no)
    return expr
