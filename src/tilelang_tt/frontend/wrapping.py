"""Integers of 8 and 16 bits wrap: what does not fit one is brought back into its range.

    y[i, j] = x[i, j] + 100            int8: 100 + 100 is -56
    y[i, j] = T.cast(z[i, j], "int8")  z : int32, of which the last 8 bits count

They lie in float formats, which would take more than their range in and round it. Floats that are cast do not wrap:
in C that is undefined.
"""

from __future__ import annotations

import math

import numpy as np

from tilelang_tt.formats import INTEGERS
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Index, Number

SMALL = ("int8", "uint8", "int16", "uint16")
_KEEPS_WHOLE = frozenset(("add", "sub", "mul", "max", "min", "negate", "abs"))
_ANY = (-math.inf, math.inf)
_EXACT = 2.0**24  # whole numbers up to here are float32
_BYTE = 256.0


def wrapped(value: ElementExpr, dtype: str) -> ElementExpr:
    """An integer as one of `dtype`; as it is where it surely is one."""
    if dtype not in SMALL or not _is_integer(value):
        return value
    limits, (low, high) = np.iinfo(dtype), _range(value)
    if limits.min <= low and high <= limits.max:
        return value
    return _brought_back(_modular(value, dtype), dtype)


def _modular(value: ElementExpr, dtype: str) -> ElementExpr:
    """A value with the same last bits, of numbers that a float32 holds: of a large product a byte at a time."""
    if is_exact(value) or not isinstance(value, Apply) or value.op not in ("add", "sub", "mul", "negate"):
        return value
    args = tuple(wrapped(arg, dtype) for arg in value.args)
    if value.op != "mul" or is_exact(Apply("mul", args)):
        return Apply(value.op, args)
    a, b = args
    high = Apply("floor", (Apply("mul", (b, Number(1 / _BYTE))),))
    low = Apply("sub", (b, Apply("mul", (high, Number(_BYTE)))))
    upper = _brought_back(Apply("mul", (a, high)), dtype)
    upper = _brought_back(Apply("mul", (upper, Number(_BYTE))), dtype)
    return Apply("add", (upper, _brought_back(Apply("mul", (a, low)), dtype)))


def is_exact(value: ElementExpr) -> bool:
    """Whether an integer surely is one that a float32 holds."""
    low, high = _range(value)
    return low >= -_EXACT and high <= _EXACT


def _brought_back(value: ElementExpr, dtype: str) -> ElementExpr:
    limits = np.iinfo(dtype)
    span = int(limits.max) - int(limits.min) + 1
    value = _last_bits(value, span)
    above = Apply("sub", (value, Number(float(limits.min))))
    rounds = Apply("floor", (Apply("mul", (above, Number(1.0 / span))),))
    return Apply("sub", (value, Apply("mul", (rounds, Number(float(span))))))


def _last_bits(value: ElementExpr, span: int) -> ElementExpr:
    """Of an integer of 32 bits those below `span`: a float32 would not hold all of them."""
    if isinstance(value, Element) and value.buffer.dtype in ("int32", "uint32"):
        value = Apply(f"from_{value.buffer.dtype}", (value,))
    if not (isinstance(value, Apply) and value.op.startswith("from_")):
        return value
    return Apply(value.op, (Apply("bit_and", (value.args[0], Number(float(span - 1)))),))


def _is_integer(value: ElementExpr) -> bool:
    """Whether a value is computed from integers by what keeps them such."""
    if isinstance(value, Element):
        return value.buffer.dtype in INTEGERS
    if isinstance(value, Number):
        return value.value.is_integer()
    if isinstance(value, Apply):
        arguments = value.args[1:] if value.op == "where" else value.args
        keeps = value.op in _KEEPS_WHOLE or value.op == "where"
        return value.op.startswith("from_") or (keeps and all(map(_is_integer, arguments)))
    return isinstance(value, Index)


def _range(value: ElementExpr) -> tuple[float, float]:
    """Numbers between which a value surely is."""
    if isinstance(value, Number):
        return value.value, value.value
    if isinstance(value, Element):
        dtype = value.buffer.dtype
        limits = np.iinfo(dtype) if dtype in SMALL else None
        return (0.0, 1.0) if dtype == "bool" else _ANY if limits is None else (float(limits.min), float(limits.max))
    if not isinstance(value, Apply) or value.op.startswith("from_"):
        return _ANY
    ranges = [_range(arg) for arg in (value.args[1:] if value.op == "where" else value.args)]
    lows, highs = zip(*ranges, strict=True)
    match value.op:
        case "where":
            return min(lows), max(highs)
        case "max":
            return max(lows), max(highs)
        case "min":
            return min(lows), min(highs)
        case "add":
            return sum(lows), sum(highs)
        case "sub":
            return lows[0] - highs[1], highs[0] - lows[1]
        case "mul" if _ANY not in ranges:
            products = [a * b for a in ranges[0] for b in ranges[1]]
            return min(products), max(products)
        case "negate":
            return -highs[0], -lows[0]
    return _ANY
