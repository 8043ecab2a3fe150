"""Operations that the chip has no instruction for, as expressions of those it has.

`DERIVED` has the trees. A part that occurs several times in one is computed once where DST has room.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tilelang_tt.formats import FLOAT8
from tilelang_tt.ir.elements import ElementExpr, Number
from tilelang_tt.ops.expressions import apply, cast, numeral
from tilelang_tt.ops.row import EXACT, Accuracy


@dataclass(frozen=True)
class Derived:
    name: str
    tree: Callable[..., ElementExpr]
    accuracy: Accuracy
    note: str = ""


def clamp(x: ElementExpr, low: ElementExpr, high: ElementExpr) -> ElementExpr:
    return apply("min", apply("max", x, low), high)


def log2(x: ElementExpr) -> ElementExpr:
    return apply("mul", apply("log", x), Number(1 / math.log(2)))


def log10(x: ElementExpr) -> ElementExpr:
    return apply("mul", apply("log", x), Number(1 / math.log(10)))


def exp10(x: ElementExpr) -> ElementExpr:
    """2^n * e^(r ln 10), where x = n log10(2) + r and n is whole: no digit of a large x is lost.

    n has 8 bits and the first part of log10(2) has 14, so that their product is exact.
    """
    n = apply("rint", apply("mul", x, Number(math.log2(10))))
    first = round(math.log10(2) * 2**15) / 2**15
    r = apply("sub", apply("sub", x, apply("mul", n, Number(first))), apply("mul", n, Number(math.log10(2) - first)))
    return apply("mul", apply("exp2", n), apply("exp", apply("mul", r, Number(math.log(10)))))


# Coefficients of Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26; largest error 1.5e-7.
_ERF_P = 0.3275911
_ERF_A = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


def erf(x: ElementExpr) -> ElementExpr:
    """sign(x) (1 - (a1 t + ... + a5 t^5) e^(-x^2)) with t = 1 / (1 + p |x|)."""
    t = apply("div", Number(1.0), apply("add", apply("mul", apply("abs", x), Number(_ERF_P)), Number(1.0)))
    polynomial: ElementExpr = Number(0.0)
    for coefficient in reversed(_ERF_A):
        polynomial = apply("mul", apply("add", polynomial, Number(coefficient)), t)
    bell = apply("exp", apply("mul", apply("mul", x, x), Number(-1.0)))
    return apply("mul", apply("sign", x), apply("sub", Number(1.0), apply("mul", polynomial, bell)))


def hypot(x: ElementExpr, y: ElementExpr) -> ElementExpr:
    return apply("sqrt", apply("add", apply("mul", x, x), apply("mul", y, y)))


def fma(x: ElementExpr, y: ElementExpr, z: ElementExpr) -> ElementExpr:
    """With two roundings."""
    return apply("add", apply("mul", x, y), z)


def power_of_int(x: ElementExpr, exponent: int) -> ElementExpr:
    """Products by repeated squaring; the squares are shared."""
    if exponent < 0:
        return apply("div", Number(1.0), power_of_int(x, -exponent))
    if exponent == 0:
        return numeral(1, x.dtype)
    if exponent == 1:
        return x
    half = power_of_int(x, exponent // 2)
    square = apply("mul", half, half)
    return apply("mul", square, x) if exponent % 2 else square


def round_half_away(x: ElementExpr) -> ElementExpr:
    """The whole part, and one more of the sign of x where at least a half is left. Exact for every x."""
    whole = apply("trunc", x)
    half_left = apply("ge", apply("abs", apply("sub", x, whole)), Number(0.5))
    return apply("add", whole, apply("mul", apply("sign", x), cast(half_left, "float32")))


def to_float8(x: ElementExpr, dtype: str) -> ElementExpr:
    """x rounded to an 8-bit float type; an infinity that is written out stays one, if the type has it."""
    if isinstance(x, Number) and math.isinf(x.value) and FLOAT8[dtype] == "e5m2":
        return x
    return DERIVED[f"to_float8_{FLOAT8[dtype]}"].tree(x)


def _to_few_bits(x: ElementExpr, bits: int, lowest: int, largest: float) -> ElementExpr:
    """x rounded to `bits` significant bits, or to multiples of the smallest step below 2^lowest; largest at most.

    Both roundings are to nearest even: a sum whose last place is the wanted one rounds there, and the large part is
    taken away again without loss. A NaN stays what it is: the clamp would make a number of it.
    """
    given, x = x, clamp(x, Number(-largest), Number(largest))
    spread = apply("mul", x, Number(2.0 ** (24 - bits) + 1))
    normal = apply("sub", spread, apply("sub", spread, x))
    shift = Number(1.5 * 2.0 ** (23 + lowest + 1 - bits))
    subnormal = apply("sub", apply("add", x, shift), shift)
    rounded = apply("where", apply("lt", apply("abs", x), Number(2.0**lowest)), subnormal, normal)
    return apply("where", apply("isnan", given), given, rounded)


def to_float8_e4m3(x: ElementExpr) -> ElementExpr:
    return _to_few_bits(x, 4, -6, 448.0)


def to_float8_e5m2(x: ElementExpr) -> ElementExpr:
    return _to_few_bits(x, 3, -14, 57344.0)


_FLOAT8 = "to the nearest, ties to even; beyond the largest number that one; of a NaN in 32 bits {nan}"
ERF_TO_FLOAT32 = "erf_to_float32"
_POSITIVE = (2.0**-126, 3e38)

DERIVED: dict[str, Derived] = {
    row.name: row
    for row in (
        Derived("clamp", clamp, EXACT, "of a NaN an end of the range; NaN in scalar code"),
        Derived(ERF_TO_FLOAT32, erf, Accuracy(0.0, absolute=5e-7), "instead of `erf` where the target is float32"),
        Derived("exp10", exp10, Accuracy(3.0, domain=(-37.0, 38.0))),
        Derived("fma", fma, Accuracy(1.0), "two roundings; of the larger of product and sum"),
        Derived("hypot", hypot, Accuracy(3.0, domain=(-1e18, 1e18))),
        Derived("log2", log2, Accuracy(2.5, domain=_POSITIVE)),
        Derived("log10", log10, Accuracy(2.5, domain=_POSITIVE)),
        Derived("to_float8_e4m3", to_float8_e4m3, EXACT, _FLOAT8.format(nan="a NaN")),
        Derived("to_float8_e5m2", to_float8_e5m2, EXACT, _FLOAT8.format(nan="an infinity")),
        Derived("round", round_half_away, EXACT, "halves go away from zero"),
    )
}
