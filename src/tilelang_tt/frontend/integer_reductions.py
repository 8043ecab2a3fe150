"""Reductions of integers, by way of floats.

    before   Reduce m = max of X along j                     X, m : int32
    after    Map X_float = X ; Reduce m_float = max of X_float along j, exact ; Map m = m_float

32-bit integers are floats wherever they are computed with: 24 bits of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilelang_tt.formats import INTEGERS
from tilelang_tt.frontend.integers import is_wide
from tilelang_tt.ir.elements import Element
from tilelang_tt.ir.places import Buffer, Memory
from tilelang_tt.ir.tile import Launch, Map, Reduce, Stmt, rewritten, unique_name


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
