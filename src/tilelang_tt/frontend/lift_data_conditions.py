"""Lift a condition on values computed on the chip: both arms are executed, and each assignment is guarded.

    before   if lse != 0:
                 m = T.max(m, lse)
    after    Each once: holds[] = ne(lse[], 0) ; Each once: m[] = max(m[], lse[]) where holds[]

Only the compute kernel sees such a value, and it sees whole tiles, so the value cannot control a branch. An integer of
T.alloc_var that is assigned under such a condition, or from such a value, is computed on the chip too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tvm import tirx

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.scope import Scope
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.code import Code
from tilelang_tt.ir.elements import Access, value_type
from tilelang_tt.ir.fields import children, with_children
from tilelang_tt.ir.generic import assigned, copied, copied_block, new_axes, place
from tilelang_tt.ir.tile import Copy, Each, Fill, Gemm, Reduce, Stmt, writes
from tilelang_tt.ops.expressions import apply, both, numeral


def computed_cells(body: tirx.Stmt) -> set[tirx.Buffer]:
    """Variables of T.alloc_var for whole numbers whose values only the chip knows."""
    found: set[tirx.Buffer] = set()

    def computed(expr: tirx.PrimExpr) -> bool:
        return any(is_computed(load.buffer) or load.buffer in found for load in scalar.nodes(expr, tirx.BufferLoad))

    def visit(stmt: tirx.Stmt, conditional: bool) -> None:
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


def steering_cells(body: tirx.Stmt) -> set[tirx.Buffer]:
    """Blocks of one integer that are used as an index or a bound: variables, however they were allocated."""
    accesses, loops = scalar.nodes(body, tirx.BufferLoad, tirx.BufferStore), scalar.nodes(body, tirx.For)
    steering = [index for access in accesses for index in access.indices]
    steering += [bound for loop in loops for bound in (loop.min, loop.extent)]
    found = {load.buffer for where in steering for load in scalar.nodes(where, tirx.BufferLoad)}
    in_regions = {call.args[0].buffer for call in scalar.nodes(body, tirx.Call) if operator(call) == "tl.region"}
    parallel = [loop for loop in loops if loop.kind == tirx.ForKind.PARALLEL]
    in_parallel = {store.buffer for loop in parallel for store in scalar.nodes(loop, tirx.BufferStore)}
    return {buffer for buffer in found - in_regions - in_parallel if _is_one_number(buffer)}


def _is_one_number(buffer: tirx.Buffer) -> bool:
    one = all(scalar.int_value(extent) == 1 for extent in buffer.shape)
    return one and str(buffer.dtype) in ("int32", "int64", "uint32") and str(buffer.scope()) != "global"


def is_computed(buffer: tirx.Buffer) -> bool:
    """Whether a buffer holds floats on the chip."""
    return str(buffer.scope()) != "global" and str(buffer.dtype).startswith(("float", "bfloat"))


def _is_whole_cell(buffer: tirx.Buffer) -> bool:
    return str(buffer.scope()) == "local.var" and not str(buffer.dtype).startswith("float")


def is_data(scope: Scope, condition: tirx.PrimExpr) -> bool:
    """Whether a condition depends on single numbers that are computed on the chip."""
    blocks = [
        scope.buffers[load.buffer] for load in scalar.nodes(condition, tirx.BufferLoad) if load.buffer in scope.buffers
    ]
    return bool(blocks) and all(not block.shape for block in blocks)


def truth_of(scope: Scope, condition: tirx.PrimExpr, location: Location | None) -> tuple[tirx.BufferStore, Buffer]:
    """A store of a condition's truth, one or zero, to a new block, and that block."""
    block = scope.temporary("holds", "bool", (), location)
    key = tirx.decl_buffer((1,), "bool", block.name)
    scope.buffers[key] = scope.buffers.pop(block)
    return tirx.BufferStore(key, condition, [tirx.IntImm("int32", 0)]), block


class Predicate:
    """Guards statements by a condition: knows its truth value, and the blocks that existed before."""

    def __init__(self, scope: Scope, holds: Buffer) -> None:
        self.scope = scope
        self.holds = Access(holds, ())
        self.outside = set(scope.buffers.values())

    def under(self, body: tuple[Stmt, ...], *, when: bool) -> tuple[Stmt, ...]:
        """`body` with changes to blocks from outside, and to tensors, only where the condition is `when`."""
        return tuple(new for stmt in body for new in self.stmt(stmt, when))

    def stmt(self, stmt: Stmt, when: bool) -> Iterator[Stmt]:
        to_tensor = isinstance(stmt, Each | Copy) and not writes(stmt)
        changed = self.outside.intersection(writes(stmt))
        self.scope.partly_written |= dict.fromkeys(changed)  # old contents are read, whether there are any or not
        if nested := children(stmt):
            yield with_children(stmt, tuple(self.under(body, when=when) for body in nested))
        elif isinstance(stmt, Code):
            raise UnsupportedError(
                "TT138",
                "a number that is computed on the chip controls a branch with scalar code in it",
                location=self.scope.location,
                help="read the number from a tensor parameter",
            )
        elif not changed and not to_tensor:
            yield stmt
        elif isinstance(stmt, Each):
            yield self.guarded(stmt, when)
        elif isinstance(stmt, Copy):
            yield self.guarded(copied(stmt), when)
        elif isinstance(stmt, Fill):
            axes = new_axes(stmt.dst.shape)
            value = numeral(stmt.value, value_type(stmt.dst.dtype))
            yield self.guarded(assigned(axes, place(stmt.dst, axes), value, stmt.location), when)
        else:
            assert isinstance(stmt, Gemm | Reduce)
            yield from self.beside(stmt, when)

    def beside(self, stmt: Gemm | Reduce, when: bool) -> Iterator[Stmt]:
        """An operation on a copy of its target, which is then taken over where the condition holds."""
        (target,) = writes(stmt)
        copy = self.scope.temporary(target.name, target.dtype, target.shape, stmt.location)
        yield copied_block(target, copy, stmt.location)
        yield replace(stmt, c=copy) if isinstance(stmt, Gemm) else replace(stmt, dst=copy)
        yield self.guarded(copied_block(copy, target, stmt.location), when)

    def guarded(self, each: Each, when: bool) -> Each:
        test = self.holds if when else apply("not", self.holds)
        return replace(each, guard=both(test, each.guard))
