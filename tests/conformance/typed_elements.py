"""Element expressions with a type: as TileLang source, and what they mean, in NumPy.

    Binary("+", Element("a", "i, j", "int8"), Number(100, "int8"))
        text     (a[i, j] + T.int8(100))
        meaning  numpy.int8 numbers, which wrap

The meaning is that of TIR, where every node has a type. Integers of n bits are computed modulo 2^n, signed ones are
two's complement; `//` and `%` round down, as in Python; `>>` keeps the sign; a cast to a narrower integer keeps the
lower bits. C, and so TileLang's CPU backend, computes 8 and 16 bits in `int`. Three things have no meaning, and
programs draw none of them: division by zero; shifts by the width or more; casts of floats beyond an integer's range.

Floats are IEEE's, in `exact` numerics. Open are, and not compared:

| open | IEEE 754 | TileLang's C | the chip | left out by |
|---|---|---|---|---|
| sign and payload of a NaN | open | the processor's | infinity in 16-bit formats | `same` |
| sign of a zero result | defined | defined | lost in packing | `same` |
| max, min of a NaN and a number | either | `a > b ? a : b` | by bits | `Reading` |
| where bfloat16, float16 round | each step | results | each pack | `Reading`, `same` |
| `x * 0.0` of an infinity | NaN | 0, as T writes it | 0, as T writes it | no such literal |
| denormals | numbers | numbers | zeros | floats run in `exact` |

`fast` and `chip` turn a bfloat16 NaN into an infinity and compare it as one. So integers and truth values are judged
in all three modes, floats in `exact` alone, which is IEEE's float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

SIGNED, UNSIGNED = ("int8", "int16", "int32"), ("uint8", "uint16", "uint32")
INTEGERS = (*SIGNED, *UNSIGNED)
FLOATS = ("float32", "bfloat16", "float16")
ALL_FLOATS = (*FLOATS, "float64")  # those of scalar code

COMPARISONS: dict[str, Callable[..., Any]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "T.max": np.maximum,
    "T.min": np.minimum,
}
EXTREMES = ("T.max", "T.min")
DIVISIONS: dict[str, Callable[..., Any]] = {"//": np.floor_divide, "%": np.mod}
BITS: dict[str, Callable[..., Any]] = {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}
SHIFTS: dict[str, Callable[..., Any]] = {"<<": np.left_shift, ">>": np.right_shift}
BINARY = ARITHMETIC | DIVISIONS | BITS | SHIFTS | {"/": np.divide}
UNARY: dict[str, Callable[..., Any]] = {"-": np.negative, "~": np.invert, "T.abs": np.abs}
LOGIC: dict[str, Callable[..., Any]] = {"T.And": np.logical_and, "T.Or": np.logical_or}


@dataclass(frozen=True)
class Reading:
    """One way to fill what is open. An element that is the same in all readings is defined."""

    of_nan: float = float("nan")  # the extreme of a NaN and others
    wide: bool = False  # 16-bit floats are computed and kept as float32

    def extreme(self, op: str, left: Any, right: Any) -> Any:
        found = ARITHMETIC[op](left, right)
        return np.where(found != found, found.dtype.type(self.of_nan), found)

    def rounded(self, found: Any, dtype: str) -> Any:
        return found.astype(np.float32 if self.wide and dtype in TOLERANCES else numpy_type(dtype))


EXTREMES_OF_NAN = ("inf", "-inf", "0.5", "-0.5")  # both signs: a product with an infinity tells them apart
READINGS = (Reading(), *(Reading(of_nan=float(text)) for text in EXTREMES_OF_NAN), Reading(wide=True))
# Of the type's unit: a few roundings.
TOLERANCES = {"bfloat16": 4 * 2.0**-8, "float16": 4 * 2.0**-11}


@dataclass(frozen=True)
class Values:
    """What expressions see."""

    of: Callable[[str, str], Any]  # name of a block, vector or position, and index -> elements, as they broadcast
    reading: Reading = READINGS[0]


def numpy_type(dtype: str) -> Any:
    return np.dtype(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype)


def limits(dtype: str) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def width(dtype: str) -> int:
    return int(numpy_type(dtype).itemsize) * 8


@dataclass(frozen=True)
class Element:
    """An element of a block or vector; without an index: a position, or the block index."""

    name: str
    index: str
    dtype: str

    def text(self) -> str:
        return f"{self.name}[{self.index}]" if self.index else self.name

    def value(self, values: Values) -> Any:
        return values.of(self.name, self.index)


@dataclass(frozen=True)
class Number:
    number: Any
    dtype: str

    def text(self) -> str:
        if self.dtype == "bool":
            return f"T.bool({self.number})"
        if self.dtype not in ALL_FLOATS:
            return f"T.{self.dtype}({self.number})"
        texts = {"inf": "T.infinity('float32')", "-inf": "-T.infinity('float32')"}
        return f'T.cast({texts.get(str(self.number), f"T.float32({self.number!r})")}, "{self.dtype}")'

    def value(self, values: Values) -> Any:
        return values.reading.rounded(np.array(self.number), self.dtype)


@dataclass(frozen=True)
class Binary:
    op: str
    left: Any
    right: Any
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        truth = self.op in COMPARISONS or self.op in LOGIC
        object.__setattr__(self, "dtype", "bool" if truth else self.left.dtype)

    def text(self) -> str:
        left, right = self.left.text(), self.right.text()
        return f"{self.op}({left}, {right})" if self.op[0] == "T" else f"({left} {self.op} {right})"

    def value(self, values: Values) -> Any:
        compute = (BINARY | COMPARISONS | LOGIC)[self.op]
        if self.op in EXTREMES and self.dtype in ALL_FLOATS:
            compute = partial(values.reading.extreme, self.op)
        return values.reading.rounded(compute(self.left.value(values), self.right.value(values)), self.dtype)


@dataclass(frozen=True)
class Unary:
    op: str
    of: Any

    @property
    def dtype(self) -> str:
        return str(self.of.dtype)

    def text(self) -> str:
        return f"T.Not({self.of.text()})" if self.op == "T.Not" else f"{self.op}({self.of.text()})"

    def value(self, values: Values) -> Any:
        found = self.of.value(values)
        return np.logical_not(found) if self.op == "T.Not" else UNARY[self.op](found).astype(found.dtype)


@dataclass(frozen=True)
class Select:
    condition: Any
    then: Any
    otherwise: Any

    @property
    def dtype(self) -> str:
        return str(self.then.dtype)

    def text(self) -> str:
        return f"T.if_then_else({self.condition.text()}, {self.then.text()}, {self.otherwise.text()})"

    def value(self, values: Values) -> Any:
        return np.where(self.condition.value(values), self.then.value(values), self.otherwise.value(values))


@dataclass(frozen=True)
class Cast:
    of: Any
    dtype: str

    def text(self) -> str:
        return f'T.cast({self.of.text()}, "{self.dtype}")'

    def value(self, values: Values) -> Any:
        return converted(self.of.value(values), self.dtype, values.reading)


def converted(found: Any, dtype: str, reading: Reading) -> Any:
    """A cast."""
    return found != 0 if dtype == "bool" else reading.rounded(found, dtype)


def same(found: Any, wanted: Any, dtype: str) -> Any:
    """Which elements are equal to the last bit, or, of 16-bit floats, but for some roundings; NaNs are, and zeros of
    either sign."""
    if dtype not in FLOATS:
        return found == wanted
    found, wanted = found.astype(np.float32), wanted.astype(np.float32)
    equal = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    if dtype not in TOLERANCES:
        return equal
    scale = np.maximum(np.abs(found), np.abs(wanted))
    with np.errstate(invalid="ignore"):  # infinity - infinity
        return equal | (np.isfinite(scale) & (np.abs(found - wanted) <= TOLERANCES[dtype] * scale))
