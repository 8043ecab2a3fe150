"""Compute an exponential to the base that costs less: a rule of `form_sections`.

    before   Map P = exp((S - m[i]) * 0.125)                      32-bit DST: exp 1,299 cycles for a tile, exp2 911
    after    Map P = exp2((S - m[i]) * 0.18)                      0.18 = 0.125 / ln 2

With a factor that is a number anyway, the other base is for nothing; without one it needs a product, and the costs of
the chip decide. The new factor is off by half a unit of its last place, and the exponent with it: the result by 2^-17
at most, as it is by the rounding of the exponent itself. So results whose last bits reach a tensor, or are compared,
keep their base. Vectors, a number for each row, do too: there are few of them, and the factors of an online softmax are
multiplied with each other.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tilelang_tt.ir.dataflow import Place
from tilelang_tt.ir.elements import Apply, ElementExpr, Number
from tilelang_tt.ir.fields import rebuilt
from tilelang_tt.ir.tile import Map, Stmt
from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.ops.expressions import apply
from tilelang_tt.ops.row import TN
from tilelang_tt.options import Options
from tilelang_tt.passes.a_metadata.keep_last_bits import where_bits_show
from tilelang_tt.passes.c_tile.rules import Setting
from tilelang_tt.vector_costs import instruction_cycles, vector_cycles

_OTHER = {"exp": ("exp2", 1 / math.log(2)), "exp2": ("exp", math.log(2))}
_TIMES = next(row.name for row in ELEMENT_OPS["mul"].instructions if row.operands == TN and row.number is None)
_USUAL = (2.0**-60, 2.0**60)  # sizes of factors that stay normal numbers with the other base


def cheaper_exponentials(place: Place, setting: Setting) -> tuple[Stmt, ...] | None:
    stmt, options = place.stmt, setting.program.options
    if not isinstance(stmt, Map) or not options.fp32_acc:
        return None
    block = setting.layouts[stmt.dst]
    if None in (block.row_axis, block.col_axis) or stmt.dst in where_bits_show(setting.program, setting.launch):
        return None
    value = rebuilt(stmt.value, lambda part, _: _cheaper(part, options) if isinstance(part, Apply) else None)
    return None if value == stmt.value else place.replaced(replace(stmt, value=value))


def _cheaper(expr: Apply, options: Options) -> ElementExpr | None:
    if expr.op not in _OTHER or expr.dtype != "float32":
        return None
    operand, factor = _product(expr.args[0])
    (other, scale), product = _OTHER[expr.op], 0.0 if factor else instruction_cycles(options, _TIMES)
    if vector_cycles(options, other) + product >= vector_cycles(options, expr.op):
        return None
    return apply(other, apply("mul", operand, Number((factor or 1.0) * scale)))


def _product(expr: ElementExpr) -> tuple[ElementExpr, float | None]:
    """An expression as something times a number, if it is that."""
    if isinstance(expr, Apply) and expr.op == "mul":
        for value, number in (expr.args, expr.args[::-1]):
            if isinstance(number, Number) and _USUAL[0] < abs(number.value) < _USUAL[1]:
                return value, float(number.value)
    return expr, None
