"""C: multiply a difference once instead of both of its parts.

    before   Map P = exp2(S * 0.18 - m[i] * 0.18)
    after    Map P = exp2((S - m[i]) * 0.18)

One product less for every tile, and one rounding: close numbers lose nothing when they are subtracted.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tilelang_tt.ir.elements import Apply, ElementExpr, Number
from tilelang_tt.ir.fields import rewritten
from tilelang_tt.ir.tile import Map, Stmt, TileProgram
from tilelang_tt.ops.expressions import apply


def factor_numbers(program: TileProgram) -> TileProgram:
    launches = tuple(replace(launch, body=rewritten(launch.body, _map)) for launch in program.launches)
    return replace(program, launches=launches)


def _map(stmt: Stmt) -> tuple[Stmt] | None:
    return (replace(stmt, value=_factored(stmt.value)),) if isinstance(stmt, Map) else None


def _factored(expr: ElementExpr) -> ElementExpr:
    if not isinstance(expr, Apply):
        return expr
    args = tuple(map(_factored, expr.args))
    if expr.op in ("add", "sub") and expr.dtype == "float32":
        (a, factor), (b, other) = map(_product, args)
        if factor is not None and factor == other:
            return apply("mul", apply(expr.op, a, b), factor)
    return replace(expr, args=args)


def _product(expr: ElementExpr) -> tuple[ElementExpr, Number | None]:
    """An expression as something times a number."""
    if isinstance(expr, Apply) and expr.op == "mul":
        for value, factor in (expr.args, expr.args[::-1]):
            if isinstance(factor, Number) and math.isfinite(factor.value) and factor.value != 0:
                return value, factor
    return expr, None
