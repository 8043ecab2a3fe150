"""Use the fast approximation of exponentials where the user allows it: a rule of `form_sections`.

    before   Map P = exp2((S - m[i]) * 0.18)                     option approx_exp
    after    Map P = coarse_exp(S - m[i], 0.125)

The approximation takes a straight line for each power of two, and any positive factor for nothing. It is some ten times
as fast and right to 3.2 %. Vectors, a number for each row, stay as they are: there are few of them, and the factors of
an online softmax are multiplied with each other, so that their errors would grow with the number of rounds.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tilelang_tt.ir.dataflow import Place
from tilelang_tt.ir.elements import Apply, ElementExpr, Number
from tilelang_tt.ir.fields import rebuilt
from tilelang_tt.ir.tile import Map, Stmt
from tilelang_tt.ops.expressions import apply
from tilelang_tt.passes.c_tile.rules import Setting

_BASES = {"exp": 1.0, "exp2": math.log(2)}  # operation -> logarithm of its base


def coarse_exponentials(place: Place, setting: Setting) -> tuple[Stmt, ...] | None:
    stmt = place.stmt
    if not setting.program.options.approx_exp or not isinstance(stmt, Map):
        return None
    block = setting.layouts[stmt.dst]
    if block.row_axis is None or block.col_axis is None:
        return None
    value = rebuilt(stmt.value, lambda part, _: _coarse(part) if isinstance(part, Apply) else None)
    if value == stmt.value:
        return None
    setting.decide(stmt.dst, "exponentials by the fast approximation, right to 3.2 %", stmt.location)
    return place.replaced(replace(stmt, value=value))


def _coarse(expr: Apply) -> ElementExpr | None:
    if expr.op not in _BASES:
        return None
    (operand,), scale = expr.args, 1.0
    if isinstance(operand, Apply) and operand.op == "mul":
        for value, factor in (operand.args, operand.args[::-1]):
            if isinstance(factor, Number) and 0 < factor.value < math.inf:
                operand, scale = value, factor.value
                break
    return apply("coarse_exp", operand, Number(scale * _BASES[expr.op]))
