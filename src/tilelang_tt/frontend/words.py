"""Arithmetic of int32 with all of its bits.

    before   Map C = A * B + 1              A, B, C : int32
    after    Map C = add_int32(mul_int32(A, B), to_int32(1))

    before   where(A < B, ...)
    after    where(ne(from_int32(bit_xor(max_int32(A, B), A)), 0), ...)

A float32, in which everything else is computed, holds 24 bits. What has no instruction for integers (divisions,
absolute values) is left to floats.
"""

from __future__ import annotations

from tilelang_tt.frontend.wrapping import is_exact
from tilelang_tt.ir import scalar
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Index, Number, Scalar, elements, parts

_DTYPE = "int32"
_NARROW = ("int8", "uint8", "int16", "uint16", "bool")
_EXACT = 2.0**24  # whole numbers up to here are float32
_ARITHMETIC = ("add", "sub", "mul", "max", "min")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def word_of(value: ElementExpr) -> ElementExpr | None:
    """The bits of an integer expression; None if floats hold it anyway, or if it is more than sums and products."""
    if isinstance(value, Scalar) and scalar.is_whole(value.expr):
        return _word(value)
    computed = isinstance(value, Apply) and value.op in _ARITHMETIC
    large = _has_words(value) or not (is_exact(value) or any(isinstance(part, Index) for part in parts(value)))
    return _word(value) if computed and large else None


def compared_words(value: Apply) -> ElementExpr | None:
    """A comparison of two integers that are not known to be small; None of others, which floats decide."""
    if not all(_has_words(arg) for arg in value.args):
        return None
    a, b = (_word(arg) for arg in value.args)
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


def _word(value: ElementExpr) -> ElementExpr | None:
    if isinstance(value, Element) and value.buffer.dtype == _DTYPE:
        return value
    if isinstance(value, Apply) and value.op == "from_int32":
        return value.args[0]
    if isinstance(value, Scalar) and scalar.is_whole(value.expr):
        return Apply("bit_or", (_of_float(Number(0.0)), value))
    if isinstance(value, Apply) and value.op in _ARITHMETIC:
        a, b = (_word(arg) for arg in value.args)
        return None if a is None or b is None else Apply(f"{value.op}_int32", (a, b))
    small = isinstance(value, Number) and value.value.is_integer() and abs(value.value) <= _EXACT
    narrow = isinstance(value, Element) and value.buffer.dtype in _NARROW
    return _of_float(value) if small or narrow or isinstance(value, Index) else None


def _of_float(value: ElementExpr) -> ElementExpr:
    return Apply("to_int32", (value,))
