"""What T.ieee_add(x, y, "rz") and its kin mean: the exact result, rounded once in the direction they name."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import copysign, isqrt
from typing import Any

import numpy as np

DIRECTIONS = ("rz", "ru", "rd")  # towards zero, up, down
_FINE = 1200  # bits of a square root behind the point: more than a double has


def rounding(op: str, how: str) -> Callable[..., Any]:
    """An operation on NumPy floats; `how` is a direction, or "rn": to the nearest."""

    def compute(*args: Any) -> Any:
        exact = _exact(op, *args)
        if exact is None:
            return _plain(op, *args)
        if exact == 0:
            return np.asarray(args[0]).dtype.type(_zero(op, how, *args))
        return _towards(exact, how, np.asarray(args[0]).dtype)

    return compute


def _exact(op: str, *args: Any) -> Fraction | None:
    """None: infinite, or not a number."""
    if not all(np.isfinite(arg) for arg in args):
        return None
    x, *others = (Fraction(float(arg)) for arg in args)
    match op, others:
        case "add", [y]:
            return x + y
        case "sub", [y]:
            return x - y
        case "mul", [y]:
            return x * y
        case "fma", [y, z]:
            return x * y + z
        case "div", [y]:
            return x / y if y else None
        case "reciprocal", []:
            return 1 / x if x else None
        case "sqrt", []:
            return _root(x) if x >= 0 else None
    raise ValueError(f"no exact '{op}'")


def _root(x: Fraction) -> Fraction:
    """A square root, or a number that lies between the same two floats."""
    scaled = x * 4**_FINE
    root = isqrt(scaled.numerator // scaled.denominator)
    exact = Fraction(root * root) == scaled
    return Fraction(2 * root + (0 if exact else 1), 2 ** (_FINE + 1))


def _plain(op: str, *args: Any) -> Any:
    """Of infinities, zeros and NaN: NumPy's own."""
    with np.errstate(all="ignore"):
        match op, args:
            case "fma", (x, y, z):
                finite = np.isfinite(x) and np.isfinite(y)
                return z if finite else x * y + z
            case "reciprocal", (x,):
                return x.dtype.type(1) / x
            case "sqrt", (x,):
                return np.sqrt(x)
        return {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[op](*args)


def _zero(op: str, how: str, *args: Any) -> float:
    """An exact zero with its sign: that of a product, or of both terms of a sum; if they differ it is positive unless
    rounding goes down."""
    x, *others = (float(arg) for arg in args)
    if op in ("sqrt", "reciprocal"):
        return x
    if op in ("mul", "div"):
        return copysign(0.0, x) * copysign(1.0, others[0])
    term = copysign(1.0, x) * copysign(1.0, others[0]) if op == "fma" else copysign(1.0, x)
    other = copysign(1.0, -others[0] if op == "sub" else others[-1])
    return copysign(0.0, term) if term == other else (-0.0 if how == "rd" else 0.0)


def _towards(exact: Fraction, how: str, form: np.dtype[Any]) -> Any:
    kind = form.type
    if how == "rn":  # of doubles: Python rounds fractions to them
        return _guess(exact, kind)
    with np.errstate(all="ignore"):
        low = _guess(exact, kind)
        while not _at_most(low, exact):
            low = np.nextafter(low, kind(-np.inf))
        while _at_most(high := np.nextafter(low, kind(np.inf)), exact):
            low = high
    if _is(low, exact):
        return low
    down = how == "rd" or (how == "rz" and exact > 0)
    found = low if down else high
    return np.copysign(found, kind(-1)) if found == 0 and exact < 0 else found


def _guess(exact: Fraction, kind: Any) -> Any:
    try:
        return kind(float(exact))
    except OverflowError:
        return kind(np.inf if exact > 0 else -np.inf)


def _at_most(number: Any, exact: Fraction) -> bool:
    return bool(number < 0) if np.isinf(number) else Fraction(float(number)) <= exact


def _is(number: Any, exact: Fraction) -> bool:
    return bool(np.isfinite(number)) and Fraction(float(number)) == exact
