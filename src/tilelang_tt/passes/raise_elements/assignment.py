"""Raise one assignment: `target[i, j] = value` for every element of a block, or of a box of a tensor.

    before   Each i < 128, j < 64: acc[i, j] = acc[i, j] * scale[i]
    after    Map acc = acc * scale[i]

The axes of the block being computed are those of the target. What is read may lack some of them (it is repeated) or
have them in another order. Elements of a tensor at `base + position` are carried by a temporary block and a copy. An
assignment under a condition keeps the old value where the condition fails.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Gather, Part, Read, Region, Tensor, whole
from tilelang_tt.ir.elements import (
    Access,
    Apply,
    Element,
    ElementExpr,
    Index,
    Number,
    conjuncts,
    element_buffers,
    parts,
)
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.tile import Axis, Copy, Each, Map, Stmt
from tilelang_tt.ops.expressions import apply
from tilelang_tt.passes.raise_elements.numbers import Numbers
from tilelang_tt.passes.raise_elements.raising import Raising
from tilelang_tt.passes.raise_elements.serial_axes import pick, refuse_beyond


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
    """One axis of an access: at `base`, walked by an axis of the statement if that is not None.

    With a gather, iteration i of the axis is anywhere along it.
    """

    axis: Axis | None
    base: Expr
    gather: Gather | None = None

    @property
    def extent(self) -> int:
        return 1 if self.axis is None else self.axis.extent


class Assignment:
    """One `target[i, j] = value`, whose axes walk whole tiles of everything."""

    def __init__(self, raising: Raising, each: Each) -> None:
        self.raising = raising
        self.each = each
        self.location: Location | None = each.location
        self.before: list[Stmt] = []
        self.picks: list[tuple[Buffer, Buffer, int, Expr]] = []
        self.loaded: list[tuple[Region, tuple[int, ...], Buffer]] = []  # boxes of tensors, along which axes, and blocks
        self.walked = self.walks(each.target)
        self.order = [walk.axis for walk in self.walked if walk.axis is not None]  # axes of the block being computed
        self.axis_of = {axis.var: number for number, axis in enumerate(self.order)}
        if len(self.axis_of) != len(each.axes) or len(self.order) != len(each.axes):
            raise self.refused_target()
        self.numbers = Numbers(raising, self.order, self.load, each.location)

    def raised(self) -> list[Stmt]:
        target, condition = self.each.target.source, self.each.guard
        value = self.numbers.element(self.each.value)
        if isinstance(target, Tensor):
            return self.to_tensor(self.raising.supported(target), value)
        part = self.part(target, self.walked)
        if part is not None:
            return self.to_part(target, part, value)
        if condition is None:
            self.remember(target, value)
        return [*self.before, Map(target, self.chosen(target, value), self.location)]

    def chosen(self, block: Buffer, value: ElementExpr) -> ElementExpr:
        """`value` where the guard holds, and what the block held elsewhere."""
        if self.each.guard is None:
            return value
        if block not in element_buffers(value):
            self.raising.selected[block] = None
        return apply("where", self.numbers.element(self.each.guard), value, Element(block))

    def remember(self, block: Buffer, value: ElementExpr) -> None:
        """A block of numbers that are those of a tensor, in the same order."""
        for region, _, loaded in self.loaded:
            if region.gather is None and isinstance(value, Element) and value.buffer is loaded and value.axes is None:
                self.raising.remember_copy(block, region)

    # --- targets ----------------------------------------------------------------------------------

    def to_tensor(self, target: Tensor, value: ElementExpr) -> list[Stmt]:
        """Compute a block, and copy it to the tensor. Under a condition only a part of it, or the rest as it was."""
        shape = tuple(axis.extent for axis in self.order)
        along = tuple(range(len(shape)))
        block = self.raising.temporary(target.name, target.dtype, shape, self.location)
        region = self.region(target, self.walked)
        guard = self.each.guard
        cut = None if guard is None else self.cut(region, self.numbers.element(guard))
        old = self.stored(region, along)
        if guard is not None and cut is None:
            fetch = Copy(region, whole(block), self.location)
            self.before.append(fetch if old is None else Map(block, Element(old), self.location))
            value = self.chosen(block, value)
        self.raising.stored = [known for known in self.raising.stored if known[0].source is not target]
        if cut is None or cut.limit is None:
            self.raising.stored.append((region, along, block))
        return [*self.before, Map(block, value, self.location), Copy(whole(block), cut or region, self.location)]

    def cut(self, region: Region, condition: ElementExpr) -> Region | None:
        """The box that is left of a region where a condition holds, if it is one that begins where the region does."""
        walked = [axis for axis, extent in enumerate(region.extents) if extent != 1]
        for test in conjuncts(condition):
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

    def to_part(self, target: Buffer, part: Part, value: ElementExpr) -> list[Stmt]:
        """Compute a part of a block beside it, then put it in: what is read of the block is its old contents."""
        shape = tuple(extent for extent in part.extents if extent != 1)
        if self.each.guard is not None:
            walked = iter(range(len(shape)))
            axes = tuple(None if extent == 1 else next(walked) for extent in part.extents)
            old = Element(target, axes, part.origin)
            value = apply("where", self.numbers.element(self.each.guard), value, old)
        counted = len(shape) < len(target.shape) and any(isinstance(node, Index) for node in parts(value))
        if target not in element_buffers(value) and not counted:  # positions are those in a matrix
            return [*self.before, Map(target, value, self.location, part)]
        block = self.raising.temporary(target.name, target.dtype, shape, self.location)
        put = Map(target, Element(block), self.location, part)
        return [*self.before, Map(block, value, self.location), put]

    # --- accesses ---------------------------------------------------------------------------------

    def walks(self, access: Access) -> list[_Walk]:
        """How each axis of an access moves."""
        result = []
        for axis, index in enumerate(access.indices):
            used = [one for one in self.each.axes if one.var in self.each.depends_on(index)]
            if not used:
                result.append(_Walk(None, index))
                continue
            (walking,) = used  # `serial_axes` leaves no others
            base = scalar.simplify(index - walking.var)
            if walking.var in self.each.depends_on(base):
                assert isinstance(access.source, Tensor)  # and is read
                gather = Gather(axis, walking.var, self.looked_up(index), index)
                result.append(_Walk(walking, scalar.const(0), gather))
            else:
                result.append(_Walk(walking, base))
        return result

    def looked_up(self, index: Expr) -> tuple[Read, ...]:
        """Numbers that an index needs, in order."""
        needed = set(scalar.variables(index))
        found: list[Read] = []
        for read in reversed(self.each.reads):
            if read.var in needed:
                found.insert(0, read)
                needed |= set(scalar.variables(read.index))
        return tuple(found)

    def region(self, tensor: Tensor, walks: list[_Walk]) -> Region:
        gather = next((walk.gather for walk in walks if walk.gather is not None), None)  # along one axis at most
        return Region(tensor, tuple(walk.base for walk in walks), tuple(walk.extent for walk in walks), gather=gather)

    def part(self, buffer: Buffer, walks: list[_Walk]) -> Part | None:
        """The box of a block that an access walks, in whole tiles (see `serial_axes`); None: all of it."""
        extents, origin = tuple(walk.extent for walk in walks), tuple(walk.base for walk in walks)
        if extents == buffer.shape and all(scalar.int_value(start) == 0 for start in origin):
            return None
        for axis, (start, extent) in enumerate(zip(origin, extents, strict=True)):
            first = scalar.int_value(start) or 0
            if first < 0 or first + extent > buffer.shape[axis]:
                last = scalar.simplify(start + extent - 1)
                refuse_beyond(buffer.name, axis, start, last, buffer.shape[axis], self.location)
        return Part(origin, extents)

    def load(self, access: Access) -> ElementExpr:
        source, walks = access.source, self.walks(access)
        if isinstance(source, Buffer):
            source, walks = self.picked(source, walks)
            part = self.part(source, walks)
            if part is not None:
                towards = tuple(None if walk.axis is None else self.axis_of[walk.axis.var] for walk in walks)
                return Element(source, towards, part.origin)
        axes = tuple(self.axis_of[walk.axis.var] for walk in walks if walk.axis is not None)
        if isinstance(source, Tensor):
            source = self.fetched(self.region(self.raising.supported(source), walks), axes)
        return Element(source, None if axes == tuple(range(len(self.axis_of))) else axes)

    def stored(self, region: Region, axes: tuple[int, ...]) -> Buffer | None:
        """The block that this T.Parallel has stored to a box of a tensor: what is there now."""
        found = (block for known, along, block in self.raising.stored if along == axes and _same_box(known, region))
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
        block = self.raising.temporary(region.source.name, region.source.dtype, shape, self.location)
        self.before.append(Copy(region, whole(block), self.location))
        self.loaded.append((region, axes, block))
        return block

    def picked(self, source: Buffer, walks: list[_Walk]) -> tuple[Buffer, list[_Walk]]:
        """A block, and an access to it, without the axes of tiles along which the access stays at a place."""
        outer = max(0, len(source.shape) - 2)
        if all(walk.axis is not None for walk in walks[outer:]):
            return source, walks
        if outer:
            source, walks = self.matrix(source, walks[:outer]), walks[outer:]
        for axis in reversed(range(len(walks))):
            if walks[axis].axis is None:
                source = self.at(source, axis, walks[axis].base)
                walks = walks[:axis] + walks[axis + 1 :]
        return source, walks

    def matrix(self, source: Buffer, walks: list[_Walk]) -> Buffer:
        """One of the matrices of a block."""
        block = self.raising.temporary(source.name, source.dtype, source.shape[-2:], self.location)
        origin = (*(walk.base for walk in walks), scalar.const(0), scalar.const(0))
        self.before.append(Map(block, Element(source, (*(None for _ in walks), 0, 1), origin), self.location))
        return block

    def at(self, source: Buffer, axis: int, place: Expr) -> Buffer:
        """What a block holds at a place along an axis; once, however often the assignment reads it."""
        for block, *known, there in self.picks:
            if known == [source, axis] and scalar.same_form(there, place):
                return block
        block, filling = pick(self.raising, source, axis, place, self.location)
        self.before += filling
        self.picks.append((block, source, axis, place))
        return block

    def refused_target(self) -> UnsupportedError:
        target = self.each.target
        shown = ", ".join(str(index) for index in target.indices)
        return UnsupportedError(
            "TT136",
            f"several iterations of T.Parallel assign to the same element of '{target.source.name}[{shown}]'",
            location=self.location,
            help="walk each axis of the target by a variable of its own, or use T.reduce_sum or another reduction",
        )
