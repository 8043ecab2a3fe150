"""What 32-bit words lack, from what they have: choices, order, unsigned shifts, divisions.

    before   where(t, a, b)          after   b ^ ((a ^ b) & m)     m : all ones where t holds, else zero
    before   a < b                   after   (max(a, b) ^ a) != 0
    before   a // b                  after   two float quotients and a correction

A word is an int32. The chip adds, subtracts, multiplies, compares with zero, takes extremes and combines bits of them.
`keep` gives a value a block of its own, so that it is computed once.
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang_tt.ir.elements import Apply, ElementExpr, Number, parts
from tilelang_tt.ops.expressions import apply, cast

Keep = Callable[[ElementExpr, str], ElementExpr]  # a value in a block of its own, filled before this statement

WORD = "int32"
_SIGN_BIT = Number(-(2**31), WORD)
_SIMPLE = 4  # operations that may be computed twice rather than kept


def once(value: ElementExpr, keep: Keep) -> ElementExpr:
    """A value that is used twice: kept, unless it costs little to compute it again."""
    count = sum(isinstance(part, Apply) for part in parts(value))
    return value if count <= _SIMPLE else keep(value, value.dtype)


def flipped(word: ElementExpr) -> ElementExpr:
    """A word whose order as a signed number is that of the unsigned one."""
    return apply("bit_xor", word, _SIGN_BIT)


def shifted(op: str, value: ElementExpr, by: ElementExpr, *, unsigned: bool) -> ElementExpr:
    """The chip repeats the sign of every 32-bit type in a right shift: of unsigned words that is cut off."""
    result = apply(op, value, by)
    if not unsigned:
        return result
    if isinstance(by, Number):
        return apply("bit_and", result, Number(0xFFFFFFFF >> int(by.value), WORD)) if by.value else result
    brought_in = apply("shift_left", apply("shift_right", _SIGN_BIT, by), Number(1, WORD))
    return apply("bit_and", result, apply("bit_xor", brought_in, Number(-1, WORD)))


def chosen(truth: ElementExpr, one: ElementExpr, other: ElementExpr, keep: Keep) -> ElementExpr:
    """One of two words: `one` where the truth value holds."""
    mask = _mask(truth)
    zero = Number(0, WORD)
    if other == zero:
        return apply("bit_and", one, mask)
    if one == zero:
        inverse = cast(apply("sub", cast(truth, "float32"), Number(1.0)), WORD)
        return apply("bit_and", other, inverse)
    if isinstance(one, Number) and isinstance(other, Number):
        return apply("bit_xor", apply("bit_and", mask, apply("bit_xor", one, other)), other)
    other = once(other, keep)
    tile, rest = (other, one) if isinstance(one, Number) else (one, other)
    return apply("bit_xor", apply("bit_and", apply("bit_xor", tile, rest), mask), other)


def ordered(op: str, a: ElementExpr, b: ElementExpr, keep: Keep) -> ElementExpr:
    """The order of signed words: a < b if the larger of them is not a."""
    if op in ("gt", "le"):
        a, b = b, a
    a = once(a, keep)
    differs = cast(apply("bit_xor", apply("max", a, b), a), "float32")
    return apply("ne" if op in ("lt", "gt") else "eq", differs, Number(0.0))


def divided(op: str, a: ElementExpr, b: ElementExpr, keep: Keep, *, unsigned: bool) -> ElementExpr:
    """The quotient or the remainder of two words, which are kept."""
    quotient, rest = _unsigned(a, b, keep) if unsigned else _signed(op, a, b, keep)
    return quotient if op.endswith("div") else rest


def _signed(op: str, a: ElementExpr, b: ElementExpr, keep: Keep) -> tuple[ElementExpr, ElementExpr]:
    """Two approximations in floats, then the remainder brought to the side of zero where it belongs.

    The first quotient is off by at most |a / b| 2^-20 and a half, so its remainder is below |b| + 2^11. The second one,
    of that remainder, is off by less than one: the last remainder is at most a little more than half of b.
    """
    divisor = cast(b, "float32")

    def nearest(number: ElementExpr) -> ElementExpr:
        return keep(cast(apply("rint", apply("div", cast(number, "float32"), divisor)), WORD), WORD)

    first = nearest(a)
    rest = keep(apply("sub", a, apply("mul", first, b)), WORD)
    second = nearest(rest)
    rest = keep(apply("sub", rest, apply("mul", second, b)), WORD)
    quotient = apply("add", first, second)
    floors = op in ("floor_div", "floor_mod")
    wrong = keep(_opposite(rest, b if floors else a), "bool")  # the remainder has the sign of b, or of a
    if floors:
        return apply("sub", quotient, _one(wrong)), apply("add", rest, apply("bit_and", b, _mask(wrong)))
    # Towards b, or away from it: the quotient grows by one where remainder and b have the same sign.
    step = keep(chosen(_opposite(rest, b), Number(-1, WORD), Number(1, WORD), keep), WORD)
    step = keep(apply("bit_and", step, _mask(wrong)), WORD)
    return apply("add", quotient, step), apply("sub", rest, apply("mul", step, b))


def _unsigned(a: ElementExpr, b: ElementExpr, keep: Keep) -> tuple[ElementExpr, ElementExpr]:
    """The quotient of a / 2, doubled, and one more where the remainder allows it; 0 or 1 if b is 2^31 or more."""
    half = keep(shifted("shift_right", a, Number(1, WORD), unsigned=True), WORD)
    of_half, _ = _signed("floor_div", half, b, keep)
    large = apply("lt", cast(b, "float32"), Number(0.0))
    quotient = keep(chosen(large, Number(0, WORD), apply("shift_left", of_half, Number(1, WORD)), keep), WORD)
    rest = keep(apply("sub", a, apply("mul", quotient, b)), WORD)
    more = keep(ordered("ge", flipped(rest), flipped(b), keep), "bool")
    return apply("add", quotient, _one(more)), apply("sub", rest, apply("bit_and", b, _mask(more)))


def _mask(truth: ElementExpr) -> ElementExpr:
    """All ones, or none."""
    return cast(apply("mul", cast(truth, "float32"), Number(-1.0)), WORD)


def _one(truth: ElementExpr) -> ElementExpr:
    """One, or zero."""
    return cast(cast(truth, "float32"), WORD)


def _opposite(a: ElementExpr, b: ElementExpr) -> ElementExpr:
    """Whether one of two words is below zero and the other is above."""
    signs = apply("mul", apply("sign", cast(a, "float32")), cast(b, "float32"))
    return apply("lt", signs, Number(0.0))
