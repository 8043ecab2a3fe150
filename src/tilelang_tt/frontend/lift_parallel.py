"""Lift T.Parallel: one generic statement for every assignment in it.

    before   for i, j in T.Parallel(128, 64):
                 if j < n:
                     acc[i, j] = acc[i, j] * scale[i]
    after    Each i < 128, j < 64: acc[i, j] = acc[i, j] * scale[i] where bool[j < n]

Iterations are independent, so that all of them may do the first assignment before any does the second. For the same
reason a serial loop inside T.Parallel becomes one around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tvm import tirx

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.formats import INTEGERS
from tilelang_tt.frontend.lift_atomics import Update, update_of
from tilelang_tt.frontend.lift_expression import ExpressionLifter, is_bits, loads, operator, without_cast_to
from tilelang_tt.frontend.lift_reducers import contribution, is_update
from tilelang_tt.frontend.refuse_gpu_code import HARMLESS, location_of
from tilelang_tt.frontend.scope import Scope
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Read, Tensor
from tilelang_tt.ir.elements import Access, ElementExpr, Scalar, value_type
from tilelang_tt.ir.generic import assigned, copied_block, place
from tilelang_tt.ir.scalar import Var
from tilelang_tt.ir.tile import Axis, Branch, Each, Fill, Loop, Stmt
from tilelang_tt.ops.expressions import both, cast
from tilelang_tt.ops.reduction_kinds import REDUCTIONS


def lift_parallel(scope: Scope, stmt: tirx.Stmt, location: Location | None) -> tuple[Stmt, ...]:
    """The generic statements that a T.Parallel nest means, and the loops and branches around them."""
    return tuple(Nest(scope).body(stmt, location))


@dataclass(frozen=True)
class Nest:
    """The loops and conditions around the statements being lifted."""

    scope: Scope
    axes: tuple[Axis, ...] = ()
    guard: ElementExpr | None = None
    reads: tuple[Read, ...] = ()  # that the guard needs

    def body(self, stmt: tirx.Stmt, location: Location | None) -> Iterator[Stmt]:
        location = location_of(stmt) or location
        match stmt:
            case tirx.SeqStmt():
                for part in stmt.seq:
                    yield from self.body(part, location)
            case _ if is_update(self.scope, stmt):
                target, value = contribution(self.scope, stmt, location)
                yield from self.assign(target, value, location, self.scope.reducers[target.buffer.data])
            case tirx.BufferStore():
                yield from self.assign(tirx.BufferLoad(stmt.buffer, stmt.indices), stmt.value, location)
            case tirx.Evaluate() if (update := update_of(stmt)) is not None:
                yield from self.update(update, location)
            case tirx.IfThenElse():
                yield from self.conditional(stmt, location)
            case tirx.For() if stmt.kind == tirx.ForKind.PARALLEL:
                yield from self.parallel(stmt, location)
            case tirx.For() if stmt.kind != tirx.ForKind.THREAD_BINDING:
                yield self.serial(stmt, location)
            case tirx.Evaluate(value=tirx.IntImm()):
                return  # an empty statement in TVM
            case tirx.Evaluate() if operator(stmt.value) in HARMLESS:
                self.scope.leave_out(operator(stmt.value), location)
            case tirx.SBlockRealize():
                for buffer in stmt.block.alloc_buffers:
                    self.scope.allocate(buffer)
                yield from self.body(stmt.block.body, location)
            case tirx.AttrStmt():
                yield from self.body(stmt.body, location)
            case _:
                what = operator(stmt.value) if isinstance(stmt, tirx.Evaluate) else type(stmt).__name__
                raise _unsupported(what, location)

    # --- assignments ------------------------------------------------------------------------------

    def assign(
        self, element: tirx.BufferLoad, expr: tirx.PrimExpr, location: Location | None, combine: str | None = None
    ) -> Iterator[Stmt]:
        start = len(self.scope.pending)
        target = self.scope.access(element.buffer, element.indices, location)
        dtype = target.source.dtype
        lifted = self.lifter(location, dtype).value(self.steered(without_cast_to(expr, dtype), location))
        before, own = self.settled(start)
        value = cast(lifted, value_type(dtype))
        yield from before
        yield Each(self.axes, target, value, self.guard, (*self.reads, *own), combine, location)

    def update(self, update: Update, location: Location | None) -> Iterator[Stmt]:
        """An atomic update: of different elements like any assignment, of the same element added up before it."""
        nest = replace(self, axes=(*self.axes, *update.lanes))
        element, places = update.element, update.places(nest.axes)
        source = self.scope.source(element.buffer, location)
        whole = source.dtype in INTEGERS and update.kind != "sum"  # no number is least for all of these types
        if not self.axes or places is None or (whole and len(places) < len(nest.axes)):
            raise _unsupported(update.op, location)
        if isinstance(source, Tensor):
            self.scope.updated.add(source.param)
        if len(places) < len(nest.axes):
            shape = tuple(axis.extent for axis in places)
            dtype = source.dtype if source.dtype in INTEGERS else "float32"
            parts = self.scope.declared(source.name, dtype, shape, location)
            yield Fill(self.scope.buffers[parts], REDUCTIONS[update.kind].neutral, location)
            part = tirx.BufferLoad(parts, [axis.var for axis in places])
            yield from nest.assign(part, update.value, location, update.kind)
            update, nest = replace(update, value=part), Nest(self.scope, places)
        yield from nest.assign(element, update.combined, location)

    def lifter(self, location: Location | None, dtype: str = "") -> ExpressionLifter:
        def load(element: tirx.BufferLoad) -> ElementExpr:
            return self.scope.guarded(self.scope.access(element.buffer, element.indices, location))

        wide = self.scope.options.fp32_acc
        return ExpressionLifter(load, self.number, location, wide and dtype == "float32", wide)

    def steered(self, expr: tirx.PrimExpr, location: Location | None) -> tirx.PrimExpr:
        """`expr` with numbers of the program for those of T.alloc_var."""

        def is_cell(load: tirx.BufferLoad) -> bool:
            return self.scope.is_cell(load.buffer)

        return scalar.replace_loads(expr, lambda load: self.scope.element(load, location), is_cell)

    def number(self, expr: tirx.PrimExpr) -> ElementExpr | None:
        """An expression that reads no element; None: look at its parts."""
        if not scalar.variables(expr) or is_bits(expr):
            return None  # numbers alone, and bits, are computed in their types
        if scalar.is_whole(expr) or scalar.is_truth(expr):
            return Scalar(scalar.substitute(expr, self.scope.values), str(expr.dtype))
        return Scalar(expr, "float32") if scalar.is_var(expr) else None

    def settled(self, start: int) -> tuple[list[Read], list[Read]]:
        """Of the numbers looked up since `start`: those of blocks that are the same in all iterations, and those that
        are not. Those of tensors that are the same are looked up before the nest."""
        varying: set[Var] = {axis.var for axis in self.axes}
        before: list[Read] = []
        own: list[Read] = []
        found, self.scope.pending[start:] = self.scope.pending[start:], []
        for read in found:
            if varying.isdisjoint(scalar.variables(read.index)):
                (before if isinstance(read.source, Buffer) else self.scope.pending).append(read)
            else:
                own.append(read)
                varying.add(read.var)
        return before, own

    # --- loops ------------------------------------------------------------------------------------

    def parallel(self, stmt: tirx.For, location: Location | None) -> Iterator[Stmt]:
        extent, var = self.most(stmt, location), stmt.loop_var
        inner = self
        if extent == 1:
            self.scope.values[var] = scalar.const(0)
        else:
            inner = replace(self, axes=(*self.axes, Axis(var, extent)))
        if scalar.int_value(stmt.extent) is None:
            inner = inner.where(var < stmt.extent, location)
        own = inner.own_variables(stmt.body, location)
        self.scope.own |= own
        yield from inner.body(stmt.body, location)
        self.scope.own = {buffer: access for buffer, access in self.scope.own.items() if buffer not in own}
        self.scope.values.pop(var, None)

    def own_variables(self, body: tirx.Stmt, location: Location | None) -> dict[tirx.Buffer, Access]:
        """Variables that every iteration assigns before it reads them: blocks with an element for each iteration."""
        found: dict[tirx.Buffer, Access] = {}
        seen: set[tirx.Buffer] = set()
        for part in list(body.seq) if isinstance(body, tirx.SeqStmt) else [body]:
            seen |= {load.buffer for load in scalar.nodes(part, tirx.BufferLoad)}
            first = isinstance(part, tirx.BufferStore) and part.buffer not in seen
            if first and str(part.buffer.scope()) == "local.var":
                found[part.buffer] = place(self.scope.each(part.buffer, self.axes, location), self.axes)
            seen |= _stored(part)
        return found

    def most(self, stmt: tirx.For, location: Location | None) -> int:
        """The number of iterations of T.Parallel, or the largest number of them that there can be.

        Where that is not known, it is no larger than the blocks that the loop walks.
        """
        extent = scalar.largest(stmt.extent)
        if extent is None:
            walked = [
                int(size) - start
                for access in scalar.nodes(stmt.body, tirx.BufferLoad, tirx.BufferStore)
                if access.buffer in self.scope.buffers
                for index, size in zip(access.indices, access.buffer.shape, strict=True)
                if (start := scalar.int_value(scalar.simplify(index - stmt.loop_var))) is not None and start >= 0
            ]
            extent = min(walked, default=None)
        if extent is None or scalar.int_value(stmt.min) != 0:
            raise UnsupportedError(
                "TT130",
                f"T.Parallel extent '{stmt.extent}' is known only at run time",
                location=location,
                help="loop over a block of constant size, or over T.min of a number and such a size",
            )
        return extent

    def serial(self, stmt: tirx.For, location: Location | None) -> Stmt:
        """A serial loop inside T.Parallel becomes a serial loop around it: elements are independent."""
        if any(axis.var in scalar.variables(bound) for axis in self.axes for bound in (stmt.min, stmt.extent)):
            raise UnsupportedError(
                "TT131",
                f"a loop inside T.Parallel runs from {stmt.min} for {stmt.extent} rounds, "
                "not the same for every element",
                location=location,
                help="let it run over the full range, and put its body under a condition",
            )
        with self.scope.loop(stmt, location) as extent, self.scope.reads() as reads:
            body = tuple(self.body(stmt.body, location))
        return Loop(stmt.loop_var, extent, (*reads, *body), 0, location)

    # --- conditions -------------------------------------------------------------------------------

    def where(self, condition: tirx.PrimExpr, location: Location | None) -> Nest:
        """The same nest, for iterations that also satisfy a condition."""
        start = len(self.scope.pending)
        test = self.lifter(location).value(self.steered(condition, location))
        before, own = self.settled(start)
        self.scope.pending += before
        return replace(self, guard=both(self.guard, test), reads=(*self.reads, *own))

    def conditional(self, stmt: tirx.IfThenElse, location: Location | None) -> Iterator[Stmt]:
        """A condition that is the same for all elements is a branch; any other selects element by element.

        Where both cases assign to the same elements in the same order, each assignment selects between two values. What
        the condition reads and the cases change is kept as it was, for the next assignment to be under the same one.
        """
        cases = [(stmt.condition, stmt.then_case), (tirx.Not(stmt.condition), stmt.else_case)]
        walked = {axis.var for axis in self.axes}
        uniform = not any(var in walked for var in scalar.variables(stmt.condition)) and not loads(stmt.condition)
        if uniform and self.guard is None:
            then, otherwise = (tuple(self.body(case, location)) if case is not None else () for _, case in cases)
            yield Branch(self.scope.expr(stmt.condition, location), then, otherwise, location)
            return
        stored = _stored(stmt)
        changed = {node.buffer for node in scalar.nodes(stmt.condition, tirx.BufferLoad) if node.buffer.data in stored}
        kept: dict[tirx.Buffer, tirx.Buffer] = {}
        for buffer in changed:
            if buffer in self.scope.own or buffer in self.scope.buffers:
                kept[buffer], copy = self.copy_of(buffer, location)
                yield copy
        cases = [(_of_copies(test, kept), case) for test, case in cases]
        if pairs := self.same_targets(stmt.then_case, stmt.else_case):
            for then, otherwise in pairs:
                value = tirx.Select(cases[0][0], then.value, otherwise.value)
                yield from self.body(tirx.BufferStore(then.buffer, value, then.indices), location)
            return
        for test, case in cases:
            if case is not None:
                yield from self.where(test, location).body(case, location)

    def copy_of(self, buffer: tirx.Buffer, location: Location | None) -> tuple[tirx.Buffer, Stmt]:
        """A block that TIR can name, and the statement that copies another one to it."""
        if buffer not in self.scope.own:
            block = self.scope.buffers[buffer]
            key = self.scope.declared(block.name, block.dtype, tuple(map(int, buffer.shape)), location)
            return key, copied_block(block, self.scope.buffers[key], location)
        key = tirx.decl_buffer(buffer.shape, buffer.dtype, buffer.name)
        self.scope.own[key] = place(self.scope.each(buffer, self.axes, location), self.axes)
        return key, assigned(self.axes, self.scope.own[key], self.scope.own[buffer], location)

    def same_targets(
        self, then: tirx.Stmt, otherwise: tirx.Stmt | None
    ) -> list[tuple[tirx.BufferStore, tirx.BufferStore]] | None:
        """The assignments of two cases in pairs, if each pair assigns to the same element."""
        parts = [list(case.seq) if isinstance(case, tirx.SeqStmt) else [case] for case in (then, otherwise)]
        if len(parts[0]) != len(parts[1]) or any(is_update(self.scope, stmt) for case in parts for stmt in case):
            return None
        pairs = list(zip(*parts, strict=True))
        for a, b in pairs:
            if not (isinstance(a, tirx.BufferStore) and isinstance(b, tirx.BufferStore) and a.buffer.same_as(b.buffer)):
                return None
            if not all(map(scalar.same_form, a.indices, b.indices)):
                return None
        return pairs


def _of_copies(test: tirx.PrimExpr, copies: dict[tirx.Buffer, tirx.Buffer]) -> tirx.PrimExpr:
    """A condition on copies of blocks."""

    def of_copy(load: tirx.BufferLoad) -> tirx.BufferLoad:
        return tirx.BufferLoad(copies[load.buffer], load.indices)

    return scalar.replace_loads(test, of_copy, lambda load: load.buffer in copies)


def _stored(stmt: tirx.Stmt) -> set[Var]:
    """The data of what is written to: a view has those of its block."""
    return {node.buffer.data for node in scalar.nodes(stmt, tirx.BufferStore)}


_BY_ATOMICS = (
    "scalar code adds up in any order (it is on unless target option scalar_code=false); faster is T.reduce_sum, or a "
    "T.gemm with a block of zeros and ones that says which rows go where"
)
_BY_ELEMENTS = "assign elements of blocks, under conditions where needed"


def _unsupported(what: str, location: Location | None) -> UnsupportedError:
    return UnsupportedError(
        "TT131",
        f"{what} inside T.Parallel is not supported by this version",
        location=location,
        help=_BY_ATOMICS if "atomic" in what else _BY_ELEMENTS,
    )
