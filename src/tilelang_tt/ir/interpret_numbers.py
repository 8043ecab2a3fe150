"""Numbers of scalar code, one at a time: an integer is Python's, wrapped to its type, a float a NumPy number.

Floats below 32 bits are computed as float32 and rounded after each operation, which is what NumPy and ml_dtypes do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes  # noqa: F401 - its types get names in NumPy
import numpy as np

from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.ops.scalar_code import CODE_OPS

Number = Any  # a bool, an int, a np.float32 or a np.float64
_OF_NUMBERS = {"max": np.fmax, "min": np.fmin}  # of a number and NaN the number, as a GPU has it
_WIDE = {"float32": np.float32, "float64": np.float64}


def is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def is_integer(dtype: str) -> bool:
    return dtype.startswith(("int", "uint"))


def bits(dtype: str) -> int:
    """Of an integer type."""
    return int(dtype.removeprefix("u").removeprefix("int"))


def limits(dtype: str) -> tuple[int, int]:
    """The least and the largest number of an integer type."""
    high = 2 ** (bits(dtype) - (dtype[0] != "u")) - 1
    return (0 if dtype[0] == "u" else -high - 1), high


def wrapped(text: str, dtype: str) -> str:
    """Python for a whole number, wrapped to a type."""
    most = 1 << bits(dtype)
    return f"(({text}) & {most - 1})" if dtype[0] == "u" else f"((({text}) + {most // 2} & {most - 1}) - {most // 2})"


_WHOLE = (int, np.integer, np.bool_)


@cache
def as_type(dtype: str) -> Callable[[Any], Number]:
    """A number of any kind as one of a type: floats are rounded or cut towards zero, integers wrap around."""
    if dtype == "bool":
        return lambda value: bool(value != 0)
    if is_integer(dtype):
        wrap = eval(f"lambda value: {wrapped('value', dtype)}")
        low, high = limits(dtype)
        return lambda value: wrap(int(value)) if isinstance(value, _WHOLE) else _cut(value, low, high)
    wide = _WIDE.get(dtype)
    if wide is not None:
        return lambda value: wide(np.asarray(value) if type(value) is int else value)  # in one rounding
    narrow = np.dtype(dtype).type
    return lambda value: np.float32(narrow(np.float32(np.asarray(value))))


def _cut(value: Any, low: int, high: int) -> int:
    """A float as an integer: towards zero, and the end of the type beyond it; NaN is 0."""
    if math.isnan(value):
        return 0
    return high if value >= high else low if value <= low else int(value)


@cache
def same_bits(source: str, target: str) -> Callable[[Number], Number]:
    """The bits of a number of one type taken for a number of another."""
    kept, new, change = np.dtype(source), np.dtype(target), as_type(target)
    return lambda value: change(np.asarray(value).astype(kept).reshape(1).view(new)[0])


@cache
def operation(op: str, operands: tuple[str, ...], result: str) -> Callable[..., Number]:
    """An operation by its row, on numbers of these types."""
    known = ELEMENT_OPS.get(op) or CODE_OPS.get(op)
    if known is None:
        raise TypeError(f"no meaning for operation '{op}' of scalar code")
    meaning, change = _OF_NUMBERS.get(op, known.meaning), as_type(result)
    kinds = [np.dtype(dtype).type if is_integer(dtype) else None for dtype in operands]

    def compute(*args: Number) -> Number:
        typed = (arg if kind is None else kind(arg) for kind, arg in zip(kinds, args, strict=True))
        return change(np.asarray(meaning(*typed))[()])

    return compute


def divided(a: int, b: int) -> int:
    """Towards zero; by zero it is zero, as in NumPy."""
    return 0 if b == 0 else a // b if (a < 0) == (b < 0) else -(-a // b)


def remainder(a: int, b: int) -> int:
    """With the sign of the first."""
    return a - divided(a, b) * b if b else 0


# Python for operations on integers before they are wrapped; {bits} is the number of bits, {t} a name of its own.
INTEGERS = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "floor_div": "({0} // {t} if ({t} := {1}) else 0)",
    "floor_mod": "({0} % {t} if ({t} := {1}) else 0)",
    "trunc_div": "divided({0}, {1})",
    "trunc_mod": "remainder({0}, {1})",
    "max": "max({0}, {1})",
    "min": "min({0}, {1})",
    "abs": "abs({0})",
    "bit_and": "{0} & {1}",
    "bit_or": "{0} | {1}",
    "bit_xor": "{0} ^ {1}",
    "shift_left": "({0} << {t} if 0 <= ({t} := {1}) < {bits} else 0)",
    "shift_right": "({0} >> min({t}, {bits}) if 0 <= ({t} := {1}) else 0)",
}
FLOATS = {"add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}"}
# The same for all types; what is not needed is not computed.
TRUTHS = {
    "eq": "{0} == {1}",
    "ne": "{0} != {1}",
    "lt": "{0} < {1}",
    "le": "{0} <= {1}",
    "gt": "{0} > {1}",
    "ge": "{0} >= {1}",
    "and": "{0} and {1}",
    "or": "{0} or {1}",
    "not": "not {0}",
}
