"""Arithmetic of int32 with all of its bits.

    before   Map C = A * B + 1              A, B, C : int32
    after    Map C = add_int32(mul_int32(A, B), to_int32(1))

    before   where(A < B, ...)
    after    where(ne(from_int32(bit_xor(max_int32(A, B), A)), 0), ...)

A float32, in which everything else is computed, holds 24 bits. What has no instruction for integers (divisions,
absolute values) is left to floats.
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang_tt.frontend.wrapping import SMALL, is_exact
from tilelang_tt.ir import scalar
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Index, Number, Scalar, elements, parts

_DTYPE = "int32"
_NARROW = (*SMALL, "bool")
_HALF = 2.0**16
_ARITHMETIC = ("add", "sub", "mul", "max", "min")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")

Loaded = Callable[[ElementExpr], ElementExpr]


def word_of(value: ElementExpr, loaded: Loaded) -> ElementExpr | None:
    """The bits of an integer expression; None if floats hold it anyway, or if it is more than sums and products.

    `loaded`: what becomes of the other parts of it.
    """
    if isinstance(value, Scalar) and scalar.is_whole(value.expr):
        return _word(value, loaded)
    computed = isinstance(value, Apply) and value.op in (*_ARITHMETIC, "where")
    large = _has_words(value) or not (is_exact(value) or any(isinstance(part, Index) for part in parts(value)))
    return _word(value, loaded) if computed and large else None


def compared_words(value: Apply, loaded: Loaded) -> ElementExpr | None:
    """A comparison of two integers that are not known to be small; None of others, which floats decide."""
    if not any(map(_has_words, value.args)) or not all(_has_words(arg) or _is_large(arg) for arg in value.args):
        return None
    a, b = (_word(arg, loaded) for arg in value.args)
    if a is None or b is None:
        return None
    if value.op in ("gt", "le"):
        a, b = b, a
    if value.op not in ("eq", "ne"):
        b = Apply("max_int32", (a, b))  # a < b if it is not a
    differs = value.op in ("ne", "lt", "gt")
    return Apply("ne" if differs else "eq", (Apply("from_int32", (Apply("bit_xor", (b, a)),)), Number(0.0)))


def _has_words(value: ElementExpr) -> bool:
    return any(element.buffer.dtype == _DTYPE for element in elements(value))


def _is_large(value: ElementExpr) -> bool:
    return isinstance(value, Number) and value.value.is_integer() and not is_exact(value)


def _word(value: ElementExpr, loaded: Loaded) -> ElementExpr | None:
    if isinstance(value, Apply):
        return _word_of_operation(value, loaded)
    if isinstance(value, Element) and value.buffer.dtype == _DTYPE:
        return value
    if isinstance(value, Scalar):
        return Apply("bit_or", (_of_float(Number(0.0)), value)) if scalar.is_whole(value.expr) else None
    if isinstance(value, Number):
        return _constant(value.value) if value.value.is_integer() and abs(value.value) <= 2.0**31 else None
    narrow = isinstance(value, Element) and value.buffer.dtype in _NARROW
    return _of_float(value) if narrow or isinstance(value, Index) else None


def _word_of_operation(value: Apply, loaded: Loaded) -> ElementExpr | None:
    if value.op == "from_int32":
        return bits_inside(value, loaded)
    if value.op not in (*_ARITHMETIC, "where"):
        return None
    a, b = (_word(arg, loaded) for arg in value.args[-2:])
    if a is None or b is None:
        return None
    if value.op != "where":
        return Apply(f"{value.op}_int32", (a, b))
    return chosen(loaded(value.args[0]), a, b)


def bits_inside(cast: Apply, loaded: Loaded) -> ElementExpr:
    """What a cast from an integer is of."""
    inner = loaded(cast)
    assert isinstance(inner, Apply)
    return inner.args[0]


def chosen(truth: ElementExpr, one: ElementExpr, other: ElementExpr) -> ElementExpr:
    """The bits of a chosen integer: b ^ ((a ^ b) & mask), where the mask is all ones if a is meant, and zero if not."""
    mask = _of_float(Apply("mul", (truth, Number(-1.0))))
    tile, rest = (other, one) if isinstance(one, Number) else (one, other)
    differing = tile if rest == Number(0.0) else Apply("bit_xor", (tile, rest))
    bits = Apply("bit_and", (differing, mask))
    return bits if other == Number(0.0) else Apply("bit_xor", (bits, other))


def _constant(number: float) -> ElementExpr:
    if is_exact(Number(number)):
        return _of_float(Number(number))
    high, low = divmod(number, _HALF)
    upper = Apply("shift_left", (_of_float(Number(high)), Number(16.0)))
    return Apply("add_int32", (upper, _of_float(Number(low)))) if low else upper


def _of_float(value: ElementExpr) -> ElementExpr:
    return Apply("to_int32", (value,))
