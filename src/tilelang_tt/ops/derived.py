"""Operations that the chip has no instruction for, as expressions of those it has.

`DERIVED` has the trees; what they cost and how accurate they are follows from their parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tilelang_tt.ir.tile import Apply, ElementExpr, Number
from tilelang_tt.ops import ELEMENT_OPS


def apply(op: str, *args: ElementExpr) -> ElementExpr:
    """An operation on expressions; on numbers alone, their result."""
    numbers = [arg.value for arg in args if isinstance(arg, Number)]
    if len(numbers) == len(args):
        return Number(float(ELEMENT_OPS[op].meaning(*numbers)))
    return Apply(op, args)


def clamp(x: ElementExpr, low: ElementExpr, high: ElementExpr) -> ElementExpr:
    return apply("min", apply("max", x, low), high)


def log2(x: ElementExpr) -> ElementExpr:
    return apply("mul", apply("log", x), Number(1 / math.log(2)))


def log10(x: ElementExpr) -> ElementExpr:
    return apply("mul", apply("log", x), Number(1 / math.log(10)))


def exp10(x: ElementExpr) -> ElementExpr:
    return apply("pow", Number(10.0), x)


def hypot(x: ElementExpr, y: ElementExpr) -> ElementExpr:
    return apply("sqrt", apply("add", apply("mul", x, x), apply("mul", y, y)))


def fma(x: ElementExpr, y: ElementExpr, z: ElementExpr) -> ElementExpr:
    """With two roundings."""
    return apply("add", apply("mul", x, y), z)


def reciprocal(x: ElementExpr) -> ElementExpr:
    return apply("div", Number(1.0), x)


def power_of_int(x: ElementExpr, exponent: int) -> ElementExpr:
    """Products by repeated squaring; the squares are shared."""
    if exponent < 0:
        return reciprocal(power_of_int(x, -exponent))
    if exponent == 0:
        return Number(1.0)
    if exponent == 1:
        return x
    half = power_of_int(x, exponent // 2)
    square = apply("mul", half, half)
    return apply("mul", square, x) if exponent % 2 else square


def round_half_away(x: ElementExpr) -> ElementExpr:
    """The whole part, and one more of the sign of x where at least a half is left. Exact for every x."""
    whole = apply("trunc", x)
    half_left = apply("ge", apply("abs", apply("sub", x, whole)), Number(0.5))
    return apply("add", whole, apply("mul", apply("sign", x), half_left))


def floor_div(a: ElementExpr, b: ElementExpr) -> ElementExpr:
    """Of whole numbers below 2^22, b positive: the half keeps the quotient clear of rounding."""
    return apply("floor", apply("div", apply("add", a, Number(0.5)), b))


def floor_mod(a: ElementExpr, b: ElementExpr) -> ElementExpr:
    return apply("sub", a, apply("mul", floor_div(a, b), b))


DERIVED: dict[str, Callable[..., ElementExpr]] = {
    "clamp": clamp,
    "exp10": exp10,
    "floor_div": floor_div,
    "floor_mod": floor_mod,
    "fma": fma,
    "hypot": hypot,
    "log2": log2,
    "log10": log10,
    "reciprocal": reciprocal,
    "round": round_half_away,
}
