"""Lift the scalar expression of one element to an `ElementExpr`.

    before   T.max(C_local[i, j] * 2, 0)
    after    max(C_local * 2, 0)

Where elements come from (indices, broadcasts, blocks and tensors) is the caller's matter: it gives the meaning
of a load, and of a loop variable used as a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import tirx

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.ir.tile import Apply, ElementExpr, Number
from tilelang_tt.ops import ELEMENT_OPS

_BINARY: dict[Any, str] = {
    tirx.Add: "add",
    tirx.Sub: "sub",
    tirx.Mul: "mul",
    tirx.Div: "div",
    tirx.Max: "max",
    tirx.Min: "min",
}
_CALLS = {
    "tirx.exp": "exp",
    "tirx.sqrt": "sqrt",
    "tirx.rsqrt": "rsqrt",
    "tirx.log": "log",
    "tirx.sigmoid": "sigmoid",
    "tirx.tanh": "tanh",
    "tirx.fabs": "abs",
}
_WIDTH = {"bfloat16": 16, "float16": 16, "float32": 32}


@dataclass(frozen=True)
class ExpressionLifter:
    """Turns expressions of one assignment into element expressions."""

    load: Callable[[Any], ElementExpr]  # the meaning of a BufferLoad
    variable: Callable[[Any], ElementExpr | None]  # of a variable used as a value; None: it has none
    location: Location | None

    def value(self, expr: Any) -> ElementExpr:
        number = constant(expr)
        if number is not None:
            return Number(number)
        if isinstance(expr, tirx.BufferLoad):
            return self.load(expr)
        if isinstance(expr, tirx.Var) and (known := self.variable(expr)) is not None:
            return known
        if isinstance(expr, tirx.Cast):
            return self.cast(expr)
        for kind, op in _BINARY.items():
            if isinstance(expr, kind):
                return fold(op, (self.value(expr.a), self.value(expr.b)))
        if isinstance(expr, tirx.Call) and operator(expr) in _CALLS:
            return fold(_CALLS[operator(expr)], tuple(self.value(arg) for arg in expr.args))
        raise UnsupportedError(
            "TT134",
            f"'{expr}' has no element-wise form in this version",
            location=self.location,
            help=f"supported: numbers, blocks, {', '.join(ELEMENT_OPS)}",
        )

    def cast(self, expr: Any) -> ElementExpr:
        """Widening keeps the value; narrowing inside an expression would round, which DST does not do."""
        source, target = str(expr.value.dtype), str(expr.dtype)
        if _WIDTH.get(target, 0) == 32 and source in (*_WIDTH, "int32"):
            return self.value(expr.value)
        raise UnsupportedError(
            "TT135",
            f"cast from {source} to {target} inside an expression",
            location=self.location,
            help=f"assign to a {target} block first: storing rounds",
        )


def constant(expr: Any) -> float | None:
    """The number an expression is: a literal, T.infinity, or a cast or product of such."""
    if isinstance(expr, tirx.FloatImm | tirx.IntImm):
        return float(expr.value)
    if isinstance(expr, tirx.Cast):
        return constant(expr.value)
    if isinstance(expr, tirx.Mul):
        a, b = constant(expr.a), constant(expr.b)
        return None if a is None or b is None else a * b
    if isinstance(expr, tirx.Call) and operator(expr) == "tl.infinity":
        return math.inf
    return None


def operator(expr: Any) -> str:
    """What an expression does, by name: the operator of a call, or the kind of node."""
    return str(getattr(expr.op, "name", expr.op)) if isinstance(expr, tirx.Call) else type(expr).__name__


def without_cast_to(expr: Any, dtype: str) -> Any:
    """The stored value itself: storing to a block of `dtype` already rounds to it."""
    return expr.value if isinstance(expr, tirx.Cast) and str(expr.dtype) == dtype else expr


def fold(op: str, args: tuple[ElementExpr, ...]) -> ElementExpr:
    """An operation on expressions; on numbers alone, their result."""
    numbers = [arg.value for arg in args if isinstance(arg, Number)]
    if len(numbers) == len(args):
        return Number(float(ELEMENT_OPS[op].meaning(*numbers)))
    return Apply(op, args)
