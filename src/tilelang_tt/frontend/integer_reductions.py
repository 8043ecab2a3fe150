"""Reductions of integers, by way of floats, which hold 24 bits: of int32 half a word at a time.

    before   Reduce s = sum of X along j                     X, s : int32
    after    Map low = X & 65535 ; Reduce low_sum = sum of low along j, exact
             Map high = X >> 16 ; Reduce high_sum = sum of high along j, exact ; Map s = (high_sum << 16) + low_sum
    before   Reduce m = max of X along j
    after    Map high = X >> 16 ; Reduce high_max = max of high along j, exact
             Map low = where(high == high_max[i], X & 65535, -1) ; Reduce low_max = max of low along j, exact
             Map m = (high_max << 16) + low_max
    before   Reduce m = max of X along j                     X, m : uint32
    after    Map X_float = X ; Reduce m_float = max of X_float along j, exact ; Map m = m_float

Maxima are exact, sums of up to 256 numbers, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilelang_tt.formats import INTEGERS
from tilelang_tt.frontend.integers import is_wide
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Number
from tilelang_tt.ir.places import Buffer, Memory
from tilelang_tt.ir.tile import Launch, Map, Reduce, Stmt, rewritten, unique_name

_HALF = 1 << 16
_COMBINE = {"sum": "add_int32", "max": "max_int32"}


def integer_reductions(launch: Launch) -> Launch:
    rewriter = _Rewriter(launch)
    body = rewritten(launch.body, rewriter.stmt)
    return replace(launch, body=body, buffers=(*launch.buffers, *rewriter.new))


class _Rewriter:
    def __init__(self, launch: Launch) -> None:
        self.names = launch.names
        self.new: list[Buffer] = []

    def stmt(self, stmt: Stmt) -> Iterator[Stmt] | None:
        whole = isinstance(stmt, Reduce) and (is_wide(stmt.src.dtype) or stmt.dst.dtype in INTEGERS)
        return self.reduce(stmt) if isinstance(stmt, Reduce) and whole else None

    def reduce(self, stmt: Reduce) -> Iterator[Stmt]:
        words = stmt.src.dtype == stmt.dst.dtype == "int32" and len(stmt.dst.shape) == len(stmt.src.shape) - 1
        yield from self.halves(stmt) if words else self.floats(stmt)

    def halves(self, stmt: Reduce) -> Iterator[Stmt]:
        word, place = Element(stmt.src), stmt.location
        high, low = (self.float_of(stmt.src) for _ in range(2))
        high_result, low_result = (self.float_of(stmt.dst) for _ in range(2))
        low_bits: ElementExpr = Apply("from_int32", (Apply("bit_and", (word, Number(_HALF - 1.0))),))
        yield Map(high, Apply("from_int32", (Apply("shift_right_int32", (word, Number(16.0))),)), place)
        yield replace(stmt, src=high, dst=high_result, exact=True, clear=True)
        if stmt.op == "max":
            axes = tuple(axis for axis in range(len(stmt.src.shape)) if axis != stmt.axis)
            largest = Apply("eq", (Element(high), Element(high_result, axes)))
            low_bits = Apply("where", (largest, low_bits, Number(-1.0)))
        yield Map(low, low_bits, place)
        yield replace(stmt, src=low, dst=low_result, exact=True, clear=True)
        upper = Apply("shift_left", (Apply("to_int32", (Element(high_result),)), Number(16.0)))
        value = Apply("add_int32", (upper, Apply("to_int32", (Element(low_result),))))
        if not stmt.clear:
            value = Apply(_COMBINE[stmt.op], (Element(stmt.dst), value))
        yield Map(stmt.dst, Apply("from_int32", (value,)), place)

    def floats(self, stmt: Reduce) -> Iterator[Stmt]:
        src, dst = (self.float_of(block) if is_wide(block.dtype) else block for block in (stmt.src, stmt.dst))
        if src is not stmt.src:
            yield Map(src, Element(stmt.src), stmt.location)
        if dst is not stmt.dst and not stmt.clear:
            yield Map(dst, Element(stmt.dst), stmt.location)
        yield replace(stmt, src=src, dst=dst, exact=True)
        if dst is not stmt.dst:
            yield Map(stmt.dst, Element(dst), stmt.location)

    def float_of(self, block: Buffer) -> Buffer:
        name = unique_name(f"{block.name}_float", self.names)
        self.names.add(name)
        self.new.append(Buffer(name, "float32", block.shape, Memory.SHARED, block.location))
        return self.new[-1]
