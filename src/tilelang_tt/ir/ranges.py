"""Lower and upper bounds of integer expressions.

    x & 255              0 .. 255                    x : int32
    a * b + 1            -16256 .. 16385             a, b : int8, computed as int16

An operation whose result may not fit its type wraps, and is then any number of that type.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilelang_tt.ir.elements import Access, Apply, Element, ElementExpr, Index, Number
from tilelang_tt.ir.facts import Facts

Range = tuple[int, int]

FLOAT32_WHOLE = 1 << 24  # whole numbers up to here are float32
BFLOAT16_WHOLE = 1 << 8  # and up to here bfloat16


def type_range(dtype: str) -> Range:
    if dtype == "bool":
        return 0, 1
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def fits(inner: Range, outer: Range) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def index_range(index: Index, shape: tuple[int, ...], facts: Facts) -> Range:
    """Of the positions in a block of this shape."""
    low, high = facts.bounds(index.base)
    reach = [factor * (extent - 1) for factor, extent in zip(index.factors, shape, strict=True)]
    return low + sum(min(0, part) for part in reach), high + sum(max(0, part) for part in reach)


class Ranges:
    """Ranges of expressions over a block of some shape, where some facts hold."""

    def __init__(self, shape: tuple[int, ...], facts: Facts) -> None:
        self.shape = shape
        self.facts = facts

    def of(self, expr: ElementExpr) -> Range:
        """Of an integer or a truth value."""
        found, whole = self.exact(expr), type_range(expr.dtype)
        return found if fits(found, whole) else whole

    def exact(self, expr: ElementExpr) -> Range:
        """The same before anything wraps."""
        if isinstance(expr, Number):
            return int(expr.value), int(expr.value)
        if isinstance(expr, Element | Access):
            return type_range(expr.dtype)
        if isinstance(expr, Index):
            return index_range(expr, self.shape, self.facts)
        if not isinstance(expr, Apply):
            return self.facts.bounds(expr.expr)
        if expr.dtype == "bool":
            return type_range("bool")
        if expr.op == "cast" and expr.args[0].dtype != "float32":
            return self.of(expr.args[0])
        operands = [self.of(arg) for arg in expr.args if arg.dtype == expr.dtype]
        known = RESULTS.get(expr.op)
        return type_range(expr.dtype) if known is None else known(*operands)


def _ends(of: Callable[[int, int], int]) -> Callable[[Range, Range], Range]:
    """For an operation that is monotonic in each operand: its results for the ends of both."""

    def result(a: Range, b: Range) -> Range:
        ends = [of(x, y) for x in a for y in b]
        return min(ends), max(ends)

    return result


def _quotient(a: Range, b: Range) -> Range:
    divisors = [end for end in (*b, -1, 1) if b[0] <= end <= b[1] and end != 0]
    ends = [end // divisor for end in a for divisor in divisors]
    return min((*ends, 0), default=0), max((*ends, 0), default=0)


def _rest(_: Range, b: Range) -> Range:
    """Of a floored division: its sign is the divisor's."""
    return min(0, b[0] + 1), max(0, b[1] - 1)


def _truncated_quotient(a: Range, b: Range) -> Range:
    most = max(map(abs, a))
    return (0 if a[0] >= 0 and b[0] >= 0 else -most), most


def _truncated_rest(a: Range, b: Range) -> Range:
    most = max(*map(abs, b), 1) - 1
    return max(min(a[0], 0), -most), min(max(a[1], 0), most)


def _and(a: Range, b: Range) -> Range:
    masks = [high for low, high in (a, b) if low >= 0]
    return (0, min(masks)) if masks else _bits(a, b)


def _bits(a: Range, b: Range) -> Range:
    """Of an operation on bits: no more of them than the operands have."""
    most = max(number.bit_length() for number in (*a, *b))
    return (0 if min(a[0], b[0]) >= 0 else -(1 << most)), (1 << most) - 1


_LONGEST_SHIFT = 31


def _shifted_left(a: Range, by: Range) -> Range:
    return _ends(lambda x, n: x << min(max(n, 0), _LONGEST_SHIFT))(a, by)


def _shifted_right(a: Range, by: Range) -> Range:
    return _ends(lambda x, n: x >> min(max(n, 0), _LONGEST_SHIFT))(a, by)


# Of results, by the operands' ranges, before anything wraps.
RESULTS: dict[str, Callable[..., Range]] = {
    "where": lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _ends(lambda x, y: x * y),
    "abs": lambda a: (0 if a[0] <= 0 <= a[1] else min(map(abs, a)), max(map(abs, a))),
    "sign": lambda a: (-1 if a[0] < 0 else 0, 1),
    "floor_div": _quotient,
    "floor_mod": _rest,
    "trunc_div": _truncated_quotient,
    "trunc_mod": _truncated_rest,
    "bit_and": _and,
    "bit_or": _bits,
    "bit_xor": _bits,
    "shift_left": _shifted_left,
    "shift_right": _shifted_right,
}
