"""Lift one assignment under T.Parallel: `target[i, j] = value` for every element of a block, or of a box of a tensor.

    before   acc[i, j] = acc[i, j] * scale[i]
    after    Map acc = acc * scale[i]

The axes of the block being computed are those of the target. What is read may lack some of them (it is repeated) or
have them in another order. Elements of a tensor at `base + position` are carried by a temporary block and a copy. An
assignment under a condition keeps the old value where the condition fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tvm import tirx

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.frontend.lift_expression import COMPARED, ExpressionLifter, is_bitwise, without_cast_to
from tilelang_tt.frontend.scope import Scope
from tilelang_tt.frontend.sub_tile_access import pick, refuse_beyond
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Gather, Part, Read, Region, Tensor, whole
from tilelang_tt.ir.elements import (
    Apply,
    Element,
    ElementExpr,
    Index,
    Number,
    Scalar,
    element_buffers,
    parts,
    value_type,
)
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.ranges import fits, index_range, type_range
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Copy, Map, Stmt
from tilelang_tt.ops.expressions import apply, cast


def _conjuncts(condition: ElementExpr) -> Iterator[ElementExpr]:
    if isinstance(condition, Apply) and condition.op == "and":
        for part in condition.args:
            yield from _conjuncts(part)
    else:
        yield condition


def _first_few(test: ElementExpr) -> tuple[int, Expr] | None:
    """(axis, count) if a test holds for the first `count` places along an axis, and for no other."""
    if not (isinstance(test, Apply) and isinstance(test.args[0], Index) and test.args[1:] == (Number(0, "int32"),)):
        return None
    index = test.args[0]
    along = [axis for axis, factor in enumerate(index.factors) if factor]
    if len(along) != 1:
        return None
    counts = {
        (1, "lt"): -index.base,
        (1, "le"): 1 - index.base,
        (-1, "gt"): index.base,
        (-1, "ge"): index.base + 1,
    }
    count = counts.get((index.factors[along[0]], test.op))
    return None if count is None else (along[0], scalar.simplify(count))


def _same_box(a: Region, b: Region) -> bool:
    if a.gather is not None or b.gather is not None:
        return False
    return a.source is b.source and a.extents == b.extents and all(map(scalar.same_form, a.mins, b.mins))


@dataclass(frozen=True)
class _Walk:
    """One axis of an access: at `base`, walked by loop `loop` of the nest if that is not None.

    With a gather, round i of the loop is anywhere along the axis.
    """

    loop: int | None
    base: Expr
    gather: Gather | None = None


class Assignment:
    """One `target[i, j] = value` under a T.Parallel nest."""

    def __init__(self, scope: Scope, loops: list[tuple[Var, int]], location: Location | None) -> None:
        self.scope = scope
        self.loops = loops
        self.location = location
        self.before: list[Stmt] = []
        self.picks: list[tuple[Buffer, Buffer, int, Expr]] = []
        self.loaded: list[tuple[Region, tuple[int, ...], Buffer]] = []  # boxes of tensors, along which axes, and blocks
        self.axis_of: dict[int, int] = {}  # loop -> axis of the block being computed

    def lift(self, store: Any, condition: Any) -> list[Stmt]:
        target = self.scope.source(store.buffer, self.location)
        walks = self.walks(target, store.buffer, store.indices)
        order = [walk.loop for walk in walks if walk.loop is not None]
        self.axis_of = {loop: axis for axis, loop in enumerate(order)}
        repeated = [var for loop, (var, extent) in enumerate(self.loops) if loop not in self.axis_of and extent > 1]
        if repeated or len(self.axis_of) != len(order):
            self.refuse_target(target, store.indices)
        wide_dst = self.scope.options.fp32_acc
        keeps_float32 = target.dtype == "float32" and wide_dst
        lifter = ExpressionLifter(self.load, self.scalar, self.location, keeps_float32, wide_dst)
        value = cast(
            lifter.value(self.with_numbers(without_cast_to(store.value, target.dtype))), value_type(target.dtype)
        )
        if isinstance(target, Buffer):
            part = self.part(target, walks)
            block, after = target, []
            if part is not None:
                return self.partial(target, part, value, condition, lifter)
            if condition is None:
                self.remember(store.buffer, value)
        else:
            block = self.scope.temporary(target.name, target.dtype, self.box(walks), self.location)
            region = self.region(target, walks)
            cut = None if condition is None else self.cut(region, lifter.value(self.with_numbers(condition)))
            after = [Copy(whole(block), cut or region, self.location)]
            old = self.stored(region, tuple(range(len(order))))
            if cut is not None:
                condition = None
            elif condition is not None:
                fetch = Copy(region, whole(block), self.location)
                self.before.append(fetch if old is None else Map(block, Element(old), self.location))
            self.scope.stored = [known for known in self.scope.stored if known[0].source is not target]
            if cut is None or cut.limit is None:
                self.scope.stored.append((region, tuple(range(len(order))), block))
        if condition is not None:
            if block not in element_buffers(value):
                self.scope.selected[block] = None
            value = apply("where", lifter.value(self.with_numbers(condition)), value, Element(block))
        return [*self.before, Map(block, value, self.location), *after]

    def remember(self, buffer: Any, value: ElementExpr) -> None:
        """A block of numbers that are those of a tensor, in the same order."""
        for region, _, block in self.loaded:
            if region.gather is None and isinstance(value, Element) and value.buffer is block and value.axes is None:
                self.scope.remember_copy(buffer, region)

    def cut(self, region: Region, condition: ElementExpr) -> Region | None:
        """The box that is left of a region where a condition holds, if it is one that begins where the region does."""
        walked = [axis for axis, extent in enumerate(region.extents) if extent != 1]
        for test in _conjuncts(condition):
            found = _first_few(test)
            if found is None or found[0] < len(walked) - 2:
                return None
            axis, count = walked[found[0]], found[1]
            if scalar.equal(region.mins[axis] + count, region.source.shape[axis]):
                continue  # what lies beyond the tensor is dropped anyway
            along_columns = len(walked) > 1 and axis == walked[-1]
            if region.limit is not None or along_columns:
                return None
            region = replace(region, limit=(axis, count))
        return region

    def with_numbers(self, expr: Any) -> Any:
        """`expr` with variables for the numbers it takes from tensors, the same for every element.

        Of a tensor that the function writes no kernel can keep a table: its numbers are blocks of one element.
        """
        walked = {var for var, _ in self.loops}

        def uniform(load: Any) -> bool:
            whole_number = not str(load.buffer.dtype).startswith(("float", "bfloat"))
            return (
                whole_number
                and self.scope.is_number(load.buffer)
                and not (load.buffer in self.scope.tensors and self.scope.writes_to(load.buffer))
                and not any(var in walked for index in load.indices for var in scalar.variables(index))
            )

        return scalar.replace_loads(expr, lambda load: self.scope.element(load, self.location), uniform)

    def partial(
        self, target: Buffer, part: Part, value: ElementExpr, condition: Any, lifter: ExpressionLifter
    ) -> list[Stmt]:
        """Compute a part of a block beside it, then put it in: what is read of the block is its old contents."""
        shape = tuple(extent for extent in part.extents if extent != 1)
        if condition is not None:
            walked = iter(range(len(shape)))
            axes = tuple(None if extent == 1 else next(walked) for extent in part.extents)
            old = Element(target, axes, part.origin)
            value = apply("where", lifter.value(self.with_numbers(condition)), value, old)
        counted = len(shape) < len(target.shape) and any(isinstance(node, Index) for node in parts(value))
        if target not in element_buffers(value) and not counted:  # positions are those in a matrix
            return [*self.before, Map(target, value, self.location, part)]
        block = self.scope.temporary(target.name, target.dtype, shape, self.location)
        put = Map(target, Element(block), self.location, part)
        return [*self.before, Map(block, value, self.location), put]

    # --- accesses ---------------------------------------------------------------------------------

    def walks(self, source: Tensor | Buffer, tir: Any, indices: Any) -> list[_Walk]:
        """How each axis of an access moves; axes of length 1 of an on-chip buffer are not there."""
        single = {var: scalar.const(0) for var, extent in self.loops if extent == 1}
        result = []
        for axis, (extent, index) in enumerate(zip(tir.shape, indices, strict=True)):
            if isinstance(source, Buffer) and scalar.int_value(extent) == 1:
                continue
            index = scalar.substitute(index, single)
            used = [loop for loop, (var, _) in enumerate(self.loops) if var in scalar.variables(index)]
            if not used:
                result.append(_Walk(None, self.scope.expr(index, self.location)))
                continue
            (loop,) = used  # `sub_tile_access` leaves no others
            var = self.loops[loop][0]
            base = scalar.simplify(index - var)
            if var in scalar.variables(base):
                assert isinstance(source, Tensor)  # and is read
                result.append(_Walk(loop, scalar.const(0), self.gather(axis, var, index)))
            else:
                result.append(_Walk(loop, self.scope.expr(base, self.location)))
        return result

    def gather(self, axis: int, var: Var, index: Any) -> Gather:
        """Places that depend on `var` in any way; what they look up without it is read once, before."""
        outer, self.scope.pending = self.scope.pending, []
        place = self.scope.expr(index, self.location)
        reads: list[Read] = []
        varying = {var}
        for read in self.scope.pending:
            if varying.isdisjoint(scalar.variables(read.index)):
                outer.append(read)
            else:
                reads.append(read)
                varying.add(read.var)
        self.scope.pending = outer
        return Gather(axis, var, tuple(reads), place)

    def box(self, walks: list[_Walk]) -> tuple[int, ...]:
        return tuple(self.loops[walk.loop][1] for walk in walks if walk.loop is not None)

    def region(self, tensor: Tensor, walks: list[_Walk]) -> Region:
        extents = tuple(1 if walk.loop is None else self.loops[walk.loop][1] for walk in walks)
        gather = next((walk.gather for walk in walks if walk.gather is not None), None)  # along one axis at most
        return Region(tensor, tuple(walk.base for walk in walks), extents, gather=gather)

    def part(self, buffer: Buffer, walks: list[_Walk]) -> Part | None:
        """The box of a block that an access walks, in whole tiles (see `sub_tile_access`); None: all of it."""
        extents = tuple(1 if walk.loop is None else self.loops[walk.loop][1] for walk in walks)
        origin = tuple(walk.base for walk in walks)
        if extents == buffer.shape and all(scalar.int_value(start) == 0 for start in origin):
            return None
        for axis, (start, extent) in enumerate(zip(origin, extents, strict=True)):
            first = scalar.int_value(start) or 0
            if first < 0 or first + extent > buffer.shape[axis]:
                last = scalar.simplify(start + extent - 1)
                refuse_beyond(buffer.name, axis, start, last, buffer.shape[axis], self.location)
        return Part(origin, extents)

    def load(self, expr: Any) -> ElementExpr:
        source = self.scope.source(expr.buffer, self.location)
        walks = self.walks(source, expr.buffer, expr.indices)
        if isinstance(source, Buffer):
            source, walks = self.picked(source, walks)
        part = self.part(source, walks) if isinstance(source, Buffer) else None
        if part is not None:
            assert isinstance(source, Buffer)
            towards = tuple(None if walk.loop is None else self.axis_of[walk.loop] for walk in walks)
            return Element(source, towards, part.origin)
        axes = tuple(self.axis_of[walk.loop] for walk in walks if walk.loop is not None)
        if isinstance(source, Tensor):
            source = self.fetched(self.region(source, walks), axes)
        return Element(source, None if axes == tuple(range(len(self.axis_of))) else axes)

    def stored(self, region: Region, axes: tuple[int, ...]) -> Buffer | None:
        """The block that this T.Parallel has stored to a box of a tensor: what is there now."""
        found = (block for known, along, block in self.scope.stored if along == axes and _same_box(known, region))
        return next(found, None)

    def fetched(self, region: Region, axes: tuple[int, ...]) -> Buffer:
        """A block with what a box of a tensor holds; once, however often the assignment reads it in the same way."""
        if (stored := self.stored(region, axes)) is not None:
            return stored
        for known, along, block in self.loaded:
            if along == axes and _same_box(known, region):
                return block
        assert isinstance(region.source, Tensor)
        shape = tuple(extent for extent in region.extents if extent != 1)
        block = self.scope.temporary(region.source.name, region.source.dtype, shape, self.location)
        self.before.append(Copy(region, whole(block), self.location))
        self.loaded.append((region, axes, block))
        return block

    def picked(self, source: Buffer, walks: list[_Walk]) -> tuple[Buffer, list[_Walk]]:
        """A block, and an access to it, without the axes of tiles along which the access stays at a place."""
        outer = max(0, len(source.shape) - 2)
        if all(walk.loop is not None for walk in walks[outer:]):
            return source, walks
        if outer:
            source, walks = self.matrix(source, walks[:outer]), walks[outer:]
        for axis in reversed(range(len(walks))):
            if walks[axis].loop is None:
                source = self.at(source, axis, walks[axis].base)
                walks = walks[:axis] + walks[axis + 1 :]
        return source, walks

    def matrix(self, source: Buffer, walks: list[_Walk]) -> Buffer:
        """One of the matrices of a block."""
        block = self.scope.temporary(source.name, source.dtype, source.shape[-2:], self.location)
        origin = (*(walk.base for walk in walks), scalar.const(0), scalar.const(0))
        self.before.append(Map(block, Element(source, (*(None for _ in walks), 0, 1), origin), self.location))
        return block

    def at(self, source: Buffer, axis: int, place: Expr) -> Buffer:
        """What a block holds at a place along an axis; once, however often the assignment reads it."""
        for block, *known, there in self.picks:
            if known == [source, axis] and scalar.same_form(there, place):
                return block
        block, filling = pick(self.scope, source, axis, place, self.location)
        self.before += filling
        self.picks.append((block, source, axis, place))
        return block

    def scalar(self, expr: Any) -> ElementExpr | None:
        """An expression that reads no element: the same for the whole block, or linear in the position."""
        walked = [self.loops[loop][0] for loop in self.axis_of]
        if not scalar.variables(expr) or any(map(is_bitwise, scalar.nodes(expr, tirx.Call))):
            return None  # numbers alone, and bits, are computed in their types
        if not any(var in scalar.variables(expr) for var, _ in self.loops):
            if scalar.is_whole(expr) or scalar.is_truth(expr):
                return self.uniform(expr)
            return Scalar(expr, "float32") if scalar.is_var(expr) else None
        if type(expr) in COMPARED and scalar.is_whole(expr.a):
            index = self.index(scalar.narrowed(expr.a) - scalar.narrowed(expr.b), walked)
            return apply(COMPARED[type(expr)], index, Number(0, "int32")) if index is not None else None
        return self.index(scalar.narrowed(expr), walked) if scalar.is_whole(expr) else None

    def uniform(self, expr: Any) -> ElementExpr:
        """A whole number or a truth value that is the same for the whole block."""
        expr = scalar.narrowed(expr) if scalar.is_whole(expr) else expr
        return Scalar(self.scope.expr(expr, self.location), str(expr.dtype))

    def index(self, expr: Any, walked: list[Var]) -> ElementExpr | None:
        """A position, unless it is known to overflow: its parts are elements, which wrap."""
        factors = scalar.linear(expr, walked)
        if factors is None:
            return None
        *along, base = factors
        index = Index(tuple(along), self.scope.expr(base, self.location))
        lengths = tuple(self.loops[loop][1] for loop in self.axis_of)
        known = scalar.int_value(index.base) is not None
        overflows = known and not fits(index_range(index, lengths, Facts()), type_range(index.dtype))
        return None if overflows else index

    # --- refusals ---------------------------------------------------------------------------------

    def refuse_target(self, target: Tensor | Buffer, indices: Any) -> None:
        shown = ", ".join(str(index) for index in indices)
        raise UnsupportedError(
            "TT136",
            f"several iterations of T.Parallel assign to the same element of '{target.name}[{shown}]'",
            location=self.location,
            help="walk each axis of the target by a variable of its own, or use T.reduce_sum or another reduction",
        )
