"""Make one axis of two that together count what one would.

before   Each i < 8, v < 4: x[i * 4 + v] = y[i * 4 + v]
after    Each i < 32: x[i] = y[i]
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from tilelang_tt.ir import fields, scalar
from tilelang_tt.ir.scalar import Var
from tilelang_tt.ir.scalar_forms import divisions
from tilelang_tt.ir.tile import Axis, Each


class AxisFuser:
    """Fuses the axes of generic statements."""

    def __init__(self) -> None:
        self.known: dict[tuple[Var, Var], Var] = {}  # statements of one T.Parallel share their variables

    def each(self, each: Each) -> Each:
        for outer, inner in permutations(each.axes, 2):
            fused = self.fused(each, outer, inner)
            if fused is not None:
                return self.each(fused)
        return each

    def fused(self, each: Each, outer: Axis, inner: Axis) -> Each | None:
        var = self.known.setdefault((outer.var, inner.var), scalar.var(str(outer.var.name)))
        values = {
            outer.var: scalar.floordiv(var, inner.extent),
            inner.var: scalar.floormod(var, inner.extent),
        }
        bare = replace(each, axes=())
        changed = (scalar.substitute(expr, values) for expr in fields.expressions(bare))  # often the first one tells
        if any(var in scalar.variables(of) for expr in changed for _, of, _ in divisions(expr)):
            return None
        both = Axis(var, outer.extent * inner.extent)
        axes = tuple(both if axis is outer else axis for axis in each.axes if axis is not inner)
        return replace(fields.with_expressions(bare, lambda expr: scalar.substitute(expr, values)), axes=axes)
