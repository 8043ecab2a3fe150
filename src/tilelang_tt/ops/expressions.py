"""Expressions of operations: typed, and computed at once where all operands are numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilelang_tt.ir.elements import Apply, ElementExpr, Number
from tilelang_tt.ops import ELEMENT_OPS, Instruction
from tilelang_tt.ops.conversion import FREE_CASTS

Array = npt.NDArray[Any]


def apply(op: str, *args: ElementExpr) -> ElementExpr:
    """An operation on expressions; on numbers alone, their result."""
    dtype = "bool" if ELEMENT_OPS[op].truth else args[-1].dtype
    numbers = [arg for arg in args if isinstance(arg, Number)]
    if len(numbers) < len(args):
        return Apply(op, args, dtype)
    with np.errstate(all="ignore"):
        result = ELEMENT_OPS[op].meaning(*(_folded(number) for number in numbers))
    return numeral(result.item() if isinstance(result, np.generic | np.ndarray) else result, dtype)


def both(a: ElementExpr | None, b: ElementExpr | None) -> ElementExpr | None:
    """Conjunction of two optional conditions (None: always)."""
    if a is None or b is None:
        return a if b is None else b
    return apply("and", a, b)


def with_operands(expr: Apply, *args: ElementExpr) -> ElementExpr:
    """The same operation on other operands of the same types."""
    if expr.op == "cast":
        return cast(args[0], expr.dtype)
    return bitcast(args[0], expr.dtype) if expr.op == "bitcast" else apply(expr.op, *args)


def _folded(number: Number) -> float | Array:
    """Floats are computed in double precision and rounded once; integers in their own type."""
    return number.value if number.dtype == "float32" else np.asarray(number.value, number.dtype)


def numeral(value: float, dtype: str) -> Number:
    """A number of a type; an integer that does not fit it wraps."""
    return Number(float(value)) if dtype == "float32" else Number(int(converted(np.asarray(value), dtype)), dtype)


def cast(value: ElementExpr, dtype: str) -> ElementExpr:
    """The same number as a `dtype`: rounded, cut towards zero, or wrapped."""
    if value.dtype == dtype:
        return value
    return numeral(value.value, dtype) if isinstance(value, Number) else Apply("cast", (value,), dtype)


def bitcast(value: ElementExpr, dtype: str) -> ElementExpr:
    """The same bits taken for a `dtype`."""
    if value.dtype == dtype:
        return value
    if isinstance(value, Number):
        bits = np.asarray(value.value, value.dtype).view(dtype).item()
        return Number(bits, dtype)
    return Apply("bitcast", (value,), dtype)


def converted(values: Array, dtype: str) -> Array:
    """NumPy numbers as a C cast gives them; what is undefined there is any number."""
    if dtype == "bool":
        return np.asarray(values != 0)
    if dtype in ("float32", "float64") or values.dtype.kind != "f":
        return np.asarray(values.astype(dtype))
    whole = np.clip(np.nan_to_num(np.trunc(values.astype(np.float64))), -(2.0**63), 2.0**63 - 1024)
    return np.asarray(whole.astype(np.int64).astype(dtype))


def evaluated(expr: Apply, *operands: Array) -> Array:
    """What an operation gives for arrays of numbers of its operands' types."""
    if expr.op == "cast":
        return converted(operands[0], expr.dtype)
    if expr.op == "bitcast":
        return np.ascontiguousarray(operands[0]).view(expr.dtype)
    result: Array = np.asarray(ELEMENT_OPS[expr.op].meaning(*operands))
    return result.astype(expr.dtype)


def instructions(expr: Apply) -> tuple[Instruction, ...]:
    """The ways in which the chip carries out an operation on operands of its types."""
    rows = ELEMENT_OPS[expr.op].instructions
    return tuple(row for row in rows if row.of == expr.args[-1].dtype and row.to in ("", expr.dtype))


def is_free(expr: Apply) -> bool:
    """Whether an operation leaves DST as it is: it needs no instruction."""
    (first, *_), target = expr.args, expr.dtype
    return expr.op == "bitcast" or (expr.op == "cast" and (first.dtype, target) in FREE_CASTS)
