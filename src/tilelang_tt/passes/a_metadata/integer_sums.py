"""Reductions of integers by reductions of floats, which hold 24 bits.

    before   Reduce s = sum of X along j                     X, s : int32, 200 of them along j
    after    Map low = X & 65535 ; Reduce low_sum = sum of low along j, exact
             Map high = X >> 16 & 65535 ; Reduce high_sum = sum of high along j, exact
             Map s = (high_sum << 16) + low_sum
    before   Reduce m = max of X along j
    after    Map high = X >> 16 ; Reduce high_max = max of high along j, exact
             Map low = where(high == high_max[i], X & 65535, -1) ; Reduce low_max = max of low along j, exact
             Map m = (high_max << 16) + low_max

A sum of n numbers is split into pieces of as many bits as keep n times the largest piece within 2^24.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Element, ElementExpr, Number, value_type
from tilelang_tt.ir.ranges import FLOAT32_WHOLE, type_range
from tilelang_tt.ir.tile import Map, Reduce, Stmt
from tilelang_tt.ops.conversion import SMALL_INTEGERS
from tilelang_tt.ops.expressions import apply, cast, numeral

NewBlock = Callable[..., Buffer]  # like which one, of which type and shape

_WORD_BITS = 32
_HALF = 16


def integer_reduction(stmt: Reduce, new: NewBlock) -> Iterator[Stmt]:
    """Statements over floats; those that compute elements are typed, and still to be legalized."""
    if stmt.op == "max":
        yield from _maximum(stmt, new)
    else:
        yield from _sum(stmt, new)


def _sum(stmt: Reduce, new: NewBlock) -> Iterator[Stmt]:
    count = stmt.src.shape[stmt.axis]
    target = value_type(stmt.dst.dtype)
    element: ElementExpr = Element(stmt.src)
    if element.dtype == "float32":
        element = cast(element, target)
    if count * max(map(abs, type_range(element.dtype))) <= FLOAT32_WHOLE:
        yield Map(floats := new(stmt.src.name, "float32", stmt.src.shape), cast(element, "float32"), stmt.location)
        yield _exact(stmt, floats, total := new(stmt.dst.name, "float32", stmt.dst.shape))
        yield _into(stmt, cast(cast(Element(total), "int32"), target))
        return
    bits = FLOAT32_WHOLE.bit_length() - 1 - (count - 1).bit_length()
    word: ElementExpr = cast(element, "uint32")
    result: ElementExpr = numeral(0, "uint32")
    for first in range(0, _WORD_BITS, bits):
        mask = numeral((1 << min(bits, _WORD_BITS - first)) - 1, "uint32")
        piece = apply("bit_and", apply("shift_right", word, numeral(first, "uint32")) if first else word, mask)
        yield Map(part := new(stmt.src.name, "float32", stmt.src.shape), cast(piece, "float32"), stmt.location)
        yield _exact(stmt, part, total := new(stmt.dst.name, "float32", stmt.dst.shape))
        sum_of_pieces = cast(cast(Element(total), "int32"), "uint32")
        moved = apply("shift_left", sum_of_pieces, numeral(first, "uint32")) if first else sum_of_pieces
        result = apply("add", result, moved) if first else moved
    yield _into(stmt, cast(result, target))


def _maximum(stmt: Reduce, new: NewBlock) -> Iterator[Stmt]:
    small = stmt.src.dtype in (*SMALL_INTEGERS, "bool")
    if small or value_type(stmt.src.dtype) == "float32":
        largest = new(stmt.dst.name, stmt.src.dtype, stmt.dst.shape)
        yield _exact(stmt, stmt.src, largest)
        yield _into(stmt, cast(Element(largest), value_type(stmt.dst.dtype)))
        return
    word: ElementExpr = Element(stmt.src)
    unsigned = word.dtype == "uint32"
    if unsigned:  # in an order that is the signed one
        word = cast(apply("bit_xor", word, numeral(1 << 31, "uint32")), "int32")
    high, low = (new(stmt.src.name, "float32", stmt.src.shape) for _ in range(2))
    high_max, low_max = (new(stmt.dst.name, "float32", stmt.dst.shape) for _ in range(2))
    yield Map(high, cast(apply("shift_right", word, numeral(_HALF, "int32")), "float32"), stmt.location)
    yield _exact(stmt, high, high_max)
    axes = tuple(axis for axis in range(len(stmt.src.shape)) if axis != stmt.axis)
    largest_high = apply("eq", Element(high), Element(high_max, axes))
    low_bits = cast(apply("bit_and", word, numeral(0xFFFF, "int32")), "float32")
    yield Map(low, apply("where", largest_high, low_bits, Number(-1.0)), stmt.location)
    yield _exact(stmt, low, low_max)
    upper = apply("shift_left", cast(Element(high_max), "int32"), numeral(_HALF, "int32"))
    value = apply("add", upper, cast(Element(low_max), "int32"))
    if unsigned:
        value = apply("bit_xor", cast(value, "uint32"), numeral(1 << 31, "uint32"))
    yield _into(stmt, cast(value, value_type(stmt.dst.dtype)))


def _exact(stmt: Reduce, src: Buffer, dst: Buffer) -> Stmt:
    return replace(stmt, src=src, dst=dst, exact=True, clear=True)


def _into(stmt: Reduce, value: ElementExpr) -> Stmt:
    """Assign the result; where the reduction does not clear, combine it with what the block holds."""
    if not stmt.clear:
        value = apply("add" if stmt.op == "sum" else "max", Element(stmt.dst), value)
    return Map(stmt.dst, value, stmt.location)
