"""Raise generic statements to operations on blocks of tiles.

    before   Each i < 128, j < 64: acc[i, j] = acc[i, j] * scale[i]
    after    Map acc = acc * scale[i]

An axis that does not walk whole tiles becomes a serial loop (`serial_axes`). What is left is one assignment to a block,
or to a box of a tensor (`assignment`). Copies of parts of blocks go the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import reduce

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Read, Region, Tensor, is_whole, whole
from tilelang_tt.ir.elements import ElementExpr, Scalar, conjuncts
from tilelang_tt.ir.fields import children, walk, with_children
from tilelang_tt.ir.generic import copied, in_loops
from tilelang_tt.ir.scalar import Var
from tilelang_tt.ir.tile import (
    Axis,
    Branch,
    Copy,
    Each,
    Fill,
    Launch,
    Loop,
    Map,
    Reduce,
    Stmt,
    TileProgram,
    reads,
    writes,
)
from tilelang_tt.ops.expressions import both
from tilelang_tt.passes.raise_elements.assignment import Assignment
from tilelang_tt.passes.raise_elements.numbers import known_numbers
from tilelang_tt.passes.raise_elements.raising import Raising, known_tables
from tilelang_tt.passes.raise_elements.reductions import contributions, reduction, serial_contributions
from tilelang_tt.passes.raise_elements.serial_axes import check_inside, serial_axes, widened, without_single
from tilelang_tt.passes.raise_elements.split_nd_copies import split_nd_copies


def raise_to_tiles(program: TileProgram) -> TileProgram:
    names = program.names | {str(var.name) for var in program.read_vars}
    tables = known_tables(program)
    raisers = [_Raiser(Raising(program, launch, names, tables)) for launch in program.launches]
    launches = tuple(one.launch(launch) for one, launch in zip(raisers, program.launches, strict=True))
    views = tuple(dict.fromkeys((*program.views, *tables.values())))
    decisions = (decision for one in raisers for decision in one.raising.decisions)
    return replace(program, launches=launches, views=views).with_decisions(*decisions)


class _Raiser:
    def __init__(self, raising: Raising) -> None:
        self.raising = raising
        self.nest: Var | None = None  # the first axis of the statement before: statements of one T.Parallel share it

    def launch(self, launch: Launch) -> Launch:
        body = split_nd_copies(self.raising, self.body(launch.body))
        body = (*_zeros(self.raising, body), *body)
        return replace(launch, body=body, buffers=tuple(self.raising.buffers))

    def body(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(raised for stmt in body for raised in self.stmt(stmt))

    def stmt(self, stmt: Stmt) -> Iterator[Stmt]:
        with self.raising.reads() as found:
            raised = tuple(self.raised(stmt))
        yield from (*found, *raised)

    def raised(self, stmt: Stmt) -> Iterable[Stmt]:
        if isinstance(stmt, Each):
            return self.each(stmt)
        if isinstance(stmt, Read):
            return (self.raising.of_tensor(stmt),)
        if isinstance(stmt, Branch):
            return (self.branch(stmt),)
        self.nest = None
        if isinstance(stmt, Copy):
            return self.copy(stmt)
        if isinstance(stmt, Reduce):
            return reduction(self.raising, stmt)
        if isinstance(stmt, Loop):
            return (self.loop(stmt),)
        return (stmt,)

    def loop(self, loop: Loop) -> Stmt:
        body = self.body(loop.body)
        self.nest = None
        copies = self.raising.copies.items()
        self.raising.copies = {block: box for block, box in copies if not _depends(box, loop.var)}
        return replace(loop, body=body)

    def branch(self, branch: Branch) -> Stmt:
        """Each arm knows what the statements before stored; what the arms store is not known behind them."""
        known, nest = self.raising.stored, self.nest
        arms = []
        for arm in children(branch):
            self.raising.stored, self.nest = list(known), nest
            arms.append(self.body(arm))
        self.nest = None
        return with_children(branch, tuple(arms))

    # --- copies -----------------------------------------------------------------------------------

    def copy(self, copy: Copy) -> Iterator[Stmt]:
        """Copies of whole blocks and boxes of tensors stay. Parts of blocks are copied element by element."""
        boxes = [box for box in (copy.src, copy.dst) if isinstance(box.source, Tensor) or is_whole(box)]
        tensors = [box for box in boxes if isinstance(box.source, Tensor) and self.raising.supported(box.source)]
        if len(boxes) == 2 and len(tensors) < 2:
            if isinstance(copy.dst.source, Buffer) and tensors:
                self.raising.remember_copy(copy.dst.source, copy.src)
            yield copy
        elif not tensors:
            yield from self.each(copied(copy))
        else:
            middle = self.middle(copy, tensors[0])
            yield from (*self.copy(replace(copy, dst=middle)), *self.copy(replace(copy, src=middle)))

    def middle(self, copy: Copy, box: Region) -> Region:
        """A block of its own for a box of a tensor."""
        shape = tuple(extent for extent in box.extents if extent != 1)
        other = copy.src.source if box is copy.dst else copy.dst.source
        like = other if isinstance(other, Buffer) else copy.src.source
        return whole(self.raising.temporary(like.name, like.dtype, shape, copy.location))

    # --- generic statements -----------------------------------------------------------------------

    def each(self, each: Each) -> Iterator[Stmt]:
        each = without_single(each)
        nest = each.axes[0].var if each.axes else None
        if nest is None or nest is not self.nest:
            self.raising.stored = []
        self.nest = nest
        if each.combine is None:
            return self.store(each)
        return self.update(each)

    def settled(self, each: Each) -> Each:
        """Numbers that are the same in all iterations are looked up before the statement."""
        varying, own = set(each.extents), []
        for read in map(self.raising.of_tensor, each.reads):
            if varying.isdisjoint(scalar.variables(read.index)):
                self.raising.pending.append(read)
            else:
                own.append(read)
                varying.add(read.var)
        return replace(each, reads=tuple(own))

    def store(self, each: Each) -> Iterator[Stmt]:
        each = self.settled(each)
        check_inside(each)
        serial = serial_axes(each)
        if serial:
            why = "something is not walked by whole tiles of 32"
            yield from self.in_rounds(serial, why, each, self.round)
        else:
            yield from Assignment(self.raising, widened(self.raising, each)).raised()

    def round(self, each: Each) -> Iterator[Stmt]:
        """A store with fewer axes. What of its guard is the same for all elements becomes a branch."""
        each = self.settled(each)
        uniform: list[Scalar] = []
        others: list[ElementExpr] = []
        for test in conjuncts(each.guard) if isinstance(each.target.source, Tensor) else ():
            known = known_numbers(self.raising, test, each.extents, each.location)
            steers = isinstance(known, Scalar) and not set(each.extents) & set(scalar.variables(known.expr))
            if isinstance(known, Scalar) and steers:
                uniform.append(known)
            else:
                others.append(test)
        if not uniform:
            yield from self.store(each)
            return
        holds = reduce(scalar.both, (test.expr for test in uniform))
        rest = reduce(both, others, None)
        with self.raising.reads() as found:
            body = tuple(self.store(replace(each, guard=rest)))
        yield Branch(scalar.simplify(holds), (*found, *body), (), each.location)

    def update(self, each: Each) -> Iterator[Stmt]:
        serial = serial_contributions(each)
        if serial:
            why = "a reducer takes in a matrix of contributions at a time"
            yield from self.in_rounds(serial, why, each, self.update)
            return
        for stmt in contributions(self.raising, each):
            yield from self.store(stmt) if isinstance(stmt, Each) else (stmt,)

    def in_rounds(
        self, serial: tuple[Axis, ...], why: str, each: Each, inner: Callable[[Each], Iterator[Stmt]]
    ) -> tuple[Stmt, ...]:
        """What is inside, with serial loops around it."""
        for axis in serial:
            text = f"one of {axis.extent} rounds after the other: {why}"
            self.raising.decide(str(axis.var.name), text, each.location)
        self.raising.stored = []
        with self.raising.reads() as found:
            inside = tuple(inner(replace(each, axes=tuple(axis for axis in each.axes if axis not in serial))))
        self.raising.stored = []
        return in_loops(serial, (*found, *inside), each.location)


def _depends(region: Region, var: Var) -> bool:
    return any(var in scalar.variables(low) for low in region.mins)


def _zeros(raising: Raising, body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Fill blocks that are written part by part with zeros: a reader gets all their tiles at once."""
    parts = dict.fromkeys(stmt.dst for stmt in walk(body) if isinstance(stmt, Map) and stmt.part is not None)
    first_selected = [block for block in raising.selected if _selected_first(body, block)]
    for buffer in dict.fromkeys((*parts, *raising.partly_written, *first_selected)):
        yield Fill(buffer, 0.0)


def _selected_first(body: tuple[Stmt, ...], block: Buffer) -> bool:
    """Whether the first use of a block assigns only some of its elements: the others are undefined."""
    first = next((stmt for stmt in walk(body) if block in (*reads(stmt), *writes(stmt))), None)
    return isinstance(first, Map) and first.dst is block
