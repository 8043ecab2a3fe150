"""Multiply a difference once instead of both of its parts: a rule of `form_sections`.

    before   Map P = exp2(S * 0.18 - m[i] * 0.18)
    after    Map P = exp2((S - m[i]) * 0.18)

One product less for every tile, and one rounding: close numbers lose nothing when they are subtracted.
"""

from __future__ import annotations

import math
import operator
from dataclasses import replace

from tilelang_tt.ir.dataflow import Place
from tilelang_tt.ir.elements import Apply, ElementExpr, Number
from tilelang_tt.ir.tile import Map, Stmt
from tilelang_tt.ops.expressions import apply
from tilelang_tt.passes.c_tile.rules import Setting


def factor_numbers(place: Place, _: Setting) -> tuple[Stmt, ...] | None:
    stmt = place.stmt
    if not isinstance(stmt, Map) or (value := _factored(stmt.value)) is stmt.value:
        return None
    return place.replaced(replace(stmt, value=value))


def _factored(expr: ElementExpr) -> ElementExpr:
    if not isinstance(expr, Apply):
        return expr
    args = tuple(map(_factored, expr.args))
    if expr.op in ("add", "sub") and expr.dtype == "float32":
        (a, factor), (b, other) = map(_product, args)
        if factor is not None and factor == other:
            return apply("mul", apply(expr.op, a, b), factor)
    return expr if all(map(operator.is_, args, expr.args)) else replace(expr, args=args)


def _product(expr: ElementExpr) -> tuple[ElementExpr, Number | None]:
    """An expression as something times a number."""
    if isinstance(expr, Apply) and expr.op == "mul":
        for value, factor in (expr.args, expr.args[::-1]):
            if isinstance(factor, Number) and math.isfinite(factor.value) and factor.value != 0:
                return value, factor
    return expr, None
