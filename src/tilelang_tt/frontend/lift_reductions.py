"""Lift T.reduce_*: sums and maxima directly, the others through |x| or -x.

before   T.reduce_min(X, m, dim=1)
after    Map X_tile = -X ; Reduce m_tile = max of X_tile along j ; Map m = -m_tile
"""

from __future__ import annotations

from tilelang_tt.diagnostics import Location
from tilelang_tt.frontend.scope import Scope
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Element, ElementExpr, Number
from tilelang_tt.ir.ranges import type_range
from tilelang_tt.ir.tile import Map, Reduce, Stmt
from tilelang_tt.ops.expressions import apply, numeral

# kind of T.reduce -> (reduction, applied before, applied after)
REDUCTIONS: dict[str, tuple[str, str | None, str | None]] = {
    "sum": ("sum", None, None),
    "max": ("max", None, None),
    "min": ("max", "negate", "negate"),
    "abssum": ("sum", "abs", None),
    "absmax": ("max", "abs", None),
}


def reduction(
    scope: Scope, kind: str, src: Buffer, dst: Buffer, axis: int | None, *, clear: bool, location: Location | None
) -> tuple[Stmt, ...]:
    """Sums and maxima directly, the others through |x| or -x. Without an axis there is one element to combine."""
    op, before, after = REDUCTIONS[kind]
    if axis is None:
        value: ElementExpr = apply("abs", Element(src)) if kind.startswith("abs") else Element(src)
        combine = {"sum": "add", "max": "min" if kind == "min" else "max"}[op]
        return (Map(dst, value if clear else apply(combine, Element(dst), value), location),)
    result: list[Stmt] = []
    if before is not None:
        prepared = scope.temporary(src.name, src.dtype, src.shape, location)
        result.append(Map(prepared, _prepared(before, src), location))
        src = prepared
    if after is None and (clear or op == "sum"):
        return (*result, Reduce(op, src, dst, axis, clear, location))
    part = scope.temporary(dst.name, dst.dtype, dst.shape, location)
    value = Element(part) if after is None else _prepared(after, part)
    if not clear:
        value = apply("max" if after is None else "min", Element(dst), value)
    return (*result, Reduce(op, src, part, axis, True, location), Map(dst, value, location))


def _prepared(function: str, buffer: Buffer) -> ElementExpr:
    """What is done to elements before or after a reduction."""
    element = Element(buffer)
    if function != "negate":
        return apply(function, element)
    if element.dtype == "float32":
        return apply("mul", element, Number(-1.0))
    least, most = type_range(element.dtype)
    return apply("sub", numeral(least + most, element.dtype), element)  # turns the order round, and always fits
