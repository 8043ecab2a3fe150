"""Maxima to the last bit, where it shows: of integers, and of floats that other numbers are compared with.

    before   Reduce m = max of X along j ; Map I = where(eq(m[i], X), ...)
    after    Map X_piece = X ; Reduce m_piece = max of X_piece along j ; Map m = m_piece
             Map X_rest = where(eq(X_piece, m_piece[i]), X - X_piece, -inf)
             Map X_piece = X_rest ; Reduce m_piece = max of X_piece along j ; Map m = m + m_piece ...

The engine that finds maxima takes in 8 bits of a float32. The largest number is among those with the largest first 8
bits; of what is left of these, the largest 8 bits count again, three times in all. 32-bit integers are floats on the
way, as everywhere: 24 bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tilelang_tt.formats import INTEGERS
from tilelang_tt.frontend.integers import is_wide
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Number, parts
from tilelang_tt.ir.places import Buffer, Memory
from tilelang_tt.ir.tile import Launch, Map, Reduce, Stmt, rewritten, unique_name, walk

PIECES = 3  # of 8 bits: a float32 has 24


def exact_maxima(launch: Launch) -> Launch:
    shown = _compared(launch)
    exact = {
        stmt
        for stmt in walk(launch.body)
        if isinstance(stmt, Reduce)
        and stmt.op == "max"
        and (is_wide(stmt.src.dtype) or (stmt.src.dtype == "float32" and stmt.dst in shown))
    }
    return _Rewriter(launch, exact).run() if exact else launch


def _compared(launch: Launch) -> set[Buffer]:
    """Blocks whose elements are compared for equality with something that is not a constant."""
    found: set[Buffer] = set()
    for stmt in walk(launch.body):
        for expr in parts(stmt.value) if isinstance(stmt, Map) else ():
            if (
                isinstance(expr, Apply)
                and expr.op in ("eq", "ne")
                and not any(isinstance(arg, Number) for arg in expr.args)
            ):
                found |= {arg.buffer for arg in expr.args if isinstance(arg, Element)}
    return found


class _Rewriter:
    def __init__(self, launch: Launch, exact: set[Reduce]) -> None:
        self.launch = launch
        self.exact = exact
        self.names = launch.names
        self.new: list[Buffer] = []

    def run(self) -> Launch:
        body = rewritten(self.launch.body, self.stmt)
        return replace(self.launch, body=body, buffers=(*self.launch.buffers, *self.new))

    def stmt(self, stmt: Stmt) -> Iterable[Stmt] | None:
        return self.maximum(stmt) if isinstance(stmt, Reduce) and stmt in self.exact else None

    def maximum(self, stmt: Reduce) -> Iterator[Stmt]:
        src, dst, at = stmt.src, stmt.dst, stmt.location
        rest = self.block(f"{src.name}_rest", "float32", src.shape)
        piece = self.block(f"{src.name}_piece", "bfloat16", src.shape)
        largest = self.block(f"{dst.name}_piece", "bfloat16", dst.shape)
        total = self.block(f"{dst.name}_max", "float32", dst.shape) if dst.dtype in INTEGERS else dst
        kept = tuple(axis for axis in range(len(src.shape)) if axis != stmt.axis)
        assert stmt.clear  # `reductions` takes in what was there by an element-wise maximum
        for number in range(PIECES):
            yield Map(rest, Element(src) if number == 0 else _left(rest, piece, Element(largest, kept)), at)
            yield Map(piece, Element(rest), at)
            yield Reduce("max", piece, largest, stmt.axis, True, at)
            sum_so_far = Apply("add", (Element(total), Element(largest)))
            yield Map(total, Element(largest) if number == 0 else sum_so_far, at)
        if total is not dst:
            yield Map(dst, Element(total), at)

    def block(self, name: str, dtype: str, shape: tuple[int, ...]) -> Buffer:
        buffer = Buffer(unique_name(name, self.names), dtype, shape, Memory.SHARED)
        self.names.add(buffer.name)
        self.new.append(buffer)
        return buffer


def _left(rest: Buffer, piece: Buffer, largest: ElementExpr) -> ElementExpr:
    """What a piece leaves of the numbers that are still in the race; an infinity leaves nothing."""
    same = Apply("eq", (Element(rest), Element(piece)))
    left = Apply("where", (same, Number(0.0), Apply("sub", (Element(rest), Element(piece)))))
    return Apply("where", (Apply("eq", (Element(piece), largest)), left, Number(-math.inf)))
