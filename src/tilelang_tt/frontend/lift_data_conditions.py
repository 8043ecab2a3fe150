"""Lift a condition on values computed on the chip: both arms are executed, and a select keeps the right result.

    before   if lse != 0:
                 m = T.max(m, lse)
    after    Map holds = lse != 0 ; Map m = where(holds, max(m, lse), m)

Only the compute kernel sees such a value, and it sees whole tiles, so the value cannot control a branch. An integer of
T.alloc_var that is assigned under such a condition, or from such a value, is computed on the chip too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tvm import tirx

from tilelang_tt.diagnostics import Location
from tilelang_tt.frontend.scope import Scope
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Region, Tensor, whole
from tilelang_tt.ir.elements import Element, ElementExpr, value_type
from tilelang_tt.ir.tile import Copy, Fill, Gemm, Map, Reduce, Stmt, children, with_children
from tilelang_tt.ops.expressions import apply, numeral


def computed_cells(body: Any) -> set[Any]:
    """Variables of T.alloc_var for whole numbers whose values only the chip knows."""
    found: set[Any] = set()

    def computed(expr: Any) -> bool:
        return any(is_computed(load.buffer) or load.buffer in found for load in scalar.nodes(expr, tirx.BufferLoad))

    def visit(stmt: Any, conditional: bool) -> None:
        if isinstance(stmt, tirx.SeqStmt):
            for part in stmt.seq:
                visit(part, conditional)
        elif isinstance(stmt, tirx.IfThenElse):
            for case in (stmt.then_case, stmt.else_case):
                if case is not None:
                    visit(case, conditional or computed(stmt.condition))
        elif isinstance(stmt, tirx.SBlockRealize):
            visit(stmt.block.body, conditional)
        elif isinstance(stmt, tirx.For | tirx.AttrStmt):
            visit(stmt.body, conditional)
        elif isinstance(stmt, tirx.BufferStore) and (conditional or computed(stmt.value)):
            found.update(cell for cell in (stmt.buffer,) if _is_whole_cell(cell))

    known = -1
    while known != len(found):
        known = len(found)
        visit(body, False)
    return found


def is_computed(buffer: Any) -> bool:
    """Whether a buffer holds floats on the chip."""
    return str(buffer.scope()) != "global" and str(buffer.dtype).startswith(("float", "bfloat"))


def _is_whole_cell(buffer: Any) -> bool:
    return str(buffer.scope()) == "local.var" and not str(buffer.dtype).startswith("float")


def is_data(scope: Scope, condition: Any) -> bool:
    """Whether a condition depends on single numbers that are computed on the chip."""
    blocks = [
        scope.buffers[load.buffer] for load in scalar.nodes(condition, tirx.BufferLoad) if load.buffer in scope.buffers
    ]
    return bool(blocks) and all(not block.shape for block in blocks)


class Predicate:
    """Lifts statements under a condition: knows its truth value, and the blocks that existed before."""

    def __init__(self, scope: Scope, holds: Buffer) -> None:
        self.scope = scope
        self.holds = Element(holds, ())
        self.outside = set(scope.buffers.values())

    def under(self, body: tuple[Stmt, ...], *, when: bool) -> tuple[Stmt, ...]:
        """`body` with changes to blocks from outside, and to tensors, only where the condition is `when`."""
        return tuple(new for stmt in body for new in self.stmt(stmt, when))

    def stmt(self, stmt: Stmt, when: bool) -> Iterator[Stmt]:
        if nested := children(stmt):
            yield with_children(stmt, tuple(self.under(body, when=when) for body in nested))
        elif isinstance(stmt, Copy) and isinstance(stmt.dst.source, Tensor):
            yield from self.store(stmt, when)
        elif isinstance(stmt, Copy | Fill | Map | Gemm | Reduce) and _target(stmt) in self.outside:
            yield from self.change(stmt, when)
        else:
            yield stmt

    def change(self, stmt: Copy | Fill | Map | Gemm | Reduce, when: bool) -> Iterator[Stmt]:
        target = _target(stmt)
        self.scope.partly_written[target] = None  # its old contents are read, whether there are any or not
        if isinstance(stmt, Map):
            yield from self.map(stmt, when)
            return
        if isinstance(stmt, Fill):
            yield Map(
                target, self.chosen(numeral(stmt.value, value_type(target.dtype)), Element(target), when), stmt.location
            )
            return
        beside = self.scope.temporary(target.name, target.dtype, target.shape, stmt.location)
        if isinstance(stmt, Copy):
            yield replace(stmt, dst=whole(beside))
        elif isinstance(stmt, Gemm):
            yield from (Map(beside, Element(target), stmt.location), replace(stmt, c=beside))
        else:
            yield from (Map(beside, Element(target), stmt.location), replace(stmt, dst=beside))
        yield Map(target, self.chosen(Element(beside), Element(target), when), stmt.location)

    def map(self, stmt: Map, when: bool) -> Iterator[Stmt]:
        if stmt.part is None:
            yield replace(stmt, value=self.chosen(stmt.value, Element(stmt.dst), when))
            return
        walked = iter(range(len(stmt.shape)))
        axes = tuple(None if extent == 1 else next(walked) for extent in stmt.part.extents)
        value = self.chosen(stmt.value, Element(stmt.dst, axes, stmt.part.origin), when)
        beside = self.scope.temporary(stmt.dst.name, stmt.dst.dtype, stmt.shape, stmt.location)
        yield Map(beside, value, stmt.location)
        yield replace(stmt, value=Element(beside))

    def store(self, stmt: Copy, when: bool) -> Iterator[Stmt]:
        """Where the condition does not hold, the old contents are stored again."""
        block = stmt.src.source
        assert isinstance(block, Buffer)
        old, new = (self.scope.temporary(block.name, block.dtype, block.shape, stmt.location) for _ in range(2))
        yield Copy(_all_of(stmt.dst), whole(old), stmt.location)
        yield Map(new, self.chosen(Element(block), Element(old), when), stmt.location)
        yield replace(stmt, src=whole(new))

    def chosen(self, new: ElementExpr, old: ElementExpr, when: bool) -> ElementExpr:
        return apply("where", self.holds, new, old) if when else apply("where", self.holds, old, new)


def _target(stmt: Copy | Fill | Map | Gemm | Reduce) -> Buffer:
    if isinstance(stmt, Gemm):
        return stmt.c
    target = stmt.dst.source if isinstance(stmt, Copy) else stmt.dst
    assert isinstance(target, Buffer)
    return target


def _all_of(region: Region) -> Region:
    return replace(region, limit=None)


def truth_of(scope: Scope, condition: Any, location: Location | None) -> tuple[Any, Buffer]:
    """A store of a condition's truth, one or zero, to a new block, and that block."""
    block = scope.temporary("holds", "bool", (), location)
    key = tirx.decl_buffer((1,), "bool", block.name)
    scope.buffers[key] = scope.buffers.pop(block)
    return tirx.BufferStore(key, condition, [tirx.IntImm("int32", 0)]), block
