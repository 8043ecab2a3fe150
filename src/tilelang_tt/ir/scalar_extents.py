"""Literal numbers that are extents: TVM's numbers know the place they come from, and here that is the side they are.

TVM compares numbers without their places, and drops these where it computes.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tvm import tirx
from tvm.ir.base import SourceName, Span

from tilelang_tt.ir.extents import Extent, Side, extent

if TYPE_CHECKING:
    from tilelang_tt.ir.scalar import Expr

_OF_CB, _OF_TENSOR = "extent of circular buffer ", "extent of tensor "


def literal(number: Extent) -> Expr:
    made: Expr = tirx.IntImm("int32", int(number), _place(number.of, number.side))
    return made


@cache
def _place(of: int | str, side: Side) -> Span:
    kind = _OF_CB if isinstance(of, int) else _OF_TENSOR
    return Span(SourceName(f"{kind}{of} {side.value}"), 0, 0, 0, 0)


def extent_of(expr: tirx.PrimExpr) -> Extent | None:
    """The extent that a literal number is."""
    if type(expr) is not tirx.IntImm or expr.span is None:
        return None
    place = str(expr.span.source_name.name)
    kind = next((kind for kind in (_OF_CB, _OF_TENSOR) if place.startswith(kind)), None)
    if kind is None:
        return None
    of, _, side = place.removeprefix(kind).partition(" ")
    found = extent(int(expr.value), int(of) if kind is _OF_CB else of, Side(side))
    return found if isinstance(found, Extent) else None


def with_factor(expr: Expr, factor: Extent) -> Expr:
    """`n * 4 + k` as `n * factor + k`, if the factor is 4."""
    if isinstance(expr, tirx.Add):
        return with_factor(expr.a, factor) + with_factor(expr.b, factor)
    if isinstance(expr, tirx.Mul) and isinstance(expr.b, tirx.IntImm) and int(expr.b.value) == factor:
        product: Expr = tirx.Mul(expr.a, literal(factor))
        return product
    return expr


def without_extents(expr: Expr) -> Expr:
    """An expression with plain numbers."""

    def plain(number: tirx.IntImm) -> Expr | None:
        return None if extent_of(number) is None else tirx.IntImm(number.dtype, number.value)

    changed: Expr = tirx.stmt_functor.ir_transform(tirx.Evaluate(expr), plain, None, ["ir.IntImm"]).value
    return changed
