"""Scalar expressions for many values of their variables at once: what `scalar_text.evaluate` is for one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from tvm import tirx

from tilelang_tt.ir.scalar import Expr, Var, is_choice

Array = npt.NDArray[Any]


def _divided(a: Array, b: Array) -> Array:
    """Cut towards zero."""
    cut: Array = np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))
    return cut


_MEANING: dict[Any, Callable[[Array, Array], Array]] = {
    tirx.Add: np.add,
    tirx.Sub: np.subtract,
    tirx.Mul: np.multiply,
    tirx.FloorDiv: np.floor_divide,
    tirx.FloorMod: np.mod,
    tirx.Div: _divided,
    tirx.Mod: lambda a, b: a - _divided(a, b) * b,
    tirx.Min: np.minimum,
    tirx.Max: np.maximum,
    tirx.LT: np.less,
    tirx.LE: np.less_equal,
    tirx.GT: np.greater,
    tirx.GE: np.greater_equal,
    tirx.EQ: np.equal,
    tirx.NE: np.not_equal,
    tirx.And: np.logical_and,
    tirx.Or: np.logical_or,
}


def evaluate_all(expr: Expr, values: Mapping[Var, Array | int]) -> Array:
    """The numbers that `expr` is under `values`, arrays that broadcast."""
    return np.asarray(_value(expr, values))


def _value(expr: Any, values: Mapping[Var, Array | int]) -> Any:
    if isinstance(expr, tirx.Var):
        return values[expr]
    if isinstance(expr, tirx.IntImm | tirx.FloatImm):
        return np.int64(expr.value) if isinstance(expr, tirx.IntImm) else expr.value
    if isinstance(expr, tirx.Cast):
        return _value(expr.value, values)
    if isinstance(expr, tirx.Not):
        return np.logical_not(_value(expr.a, values))
    if isinstance(expr, tirx.Select) or is_choice(expr):
        parts = expr.args if is_choice(expr) else (expr.condition, expr.true_value, expr.false_value)
        return np.where(*(_value(part, values) for part in parts))
    return _MEANING[type(expr)](_value(expr.a, values), _value(expr.b, values))
