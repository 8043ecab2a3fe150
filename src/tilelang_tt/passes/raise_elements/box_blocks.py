"""Keep the box of a tensor that several statements use in a block, and bring large boxes down to a few tiles.

    before   Each i < 64, j < 64: C[by * 64 + i, j] = 0
             Loop k < 64 : Each i < 64, j < 64: C[by * 64 + i, j] = C[by * 64 + i, j] + A[i, k] * B[k, j]
    after    Each i < 64, j < 64: C_box[i, j] = 0
             Loop k < 64 : Each i < 64, j < 64: C_box[i, j] = C_box[i, j] + A[i, k] * B[k, j]
             Each i < 64, j < 64: C[by * 64 + i, j] = C_box[i, j]

A box of more than a few tiles, or with more than two axes, is walked in parts, with all of the statements in one round.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from math import prod

from tilelang_tt.ir import fields, scalar
from tilelang_tt.ir.buffers import Buffer, Tensor
from tilelang_tt.ir.elements import Access, ElementExpr, Scalar, conjuncts
from tilelang_tt.ir.generic import new_axes
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.scalar_forms import conditions, same_test
from tilelang_tt.ir.tile import Each, Stmt
from tilelang_tt.ops.expressions import both
from tilelang_tt.passes.raise_elements.nests import LoopSplitter, Nest, Place, apart, loops_around, nest_of, used

MOST_ELEMENTS = 1 << 14  # of a block: 64 KiB of float32
_MOST_UNDIVIDED = 1 << 16  # where no part divides the box
_SIDES = (128, 96, 64, 32)  # of a part
_MATRIX = 2  # axes


@dataclass(frozen=True)
class Box:
    """Where a box begins along each axis, and how long it is; None: it stays at one place."""

    source: Place
    starts: tuple[Expr, ...]
    lengths: tuple[int | None, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(length for length in self.lengths if length is not None)

    def access(self, places: tuple[Expr, ...]) -> Access:
        steps = iter(places)
        indices = (
            start if length is None else scalar.simplify(start + next(steps))
            for start, length in zip(self.starts, self.lengths, strict=True)
        )
        return Access(self.source, tuple(indices))


class Boxes:
    """Gives boxes blocks of their own, in one launch."""

    def __init__(self, splitter: LoopSplitter) -> None:
        self.splitter = splitter

    def kept(self, body: list[Stmt], source: Place) -> list[Stmt] | None:
        """Statements of which those that use a tensor, or a block that loops were given, use a block of its box.

        None: that cannot be done.
        """
        users = [number for number, stmt in enumerate(body) if source in used(stmt)]
        first, last = users[0], users[-1]
        nests = [nest_of(stmt) for stmt in body[first : last + 1]]
        known = [nest for nest in nests if nest is not None]
        if len(known) < len(nests) or not self.is_alone(source, len(users)):
            return None
        boxes = [_box(nest, source) for nest in known if source in used(nest.each)]
        if None in boxes or not all(_same_box(box, boxes[0]) for box in boxes[1:]):
            return None
        box = boxes[0]
        assert box is not None
        if len(box.shape) <= _MATRIX and prod(box.shape) <= MOST_ELEMENTS:
            changed: list[Stmt] | None = self.in_block(known, box)
        elif len(users) == len(known):
            changed = self.in_parts(known, box)
        else:
            changed = None
        return None if changed is None else [*body[:first], *changed, *body[last + 1 :]]

    def is_alone(self, source: Place, count: int) -> bool:
        """Whether so many statements are all that use something."""
        return source in self.splitter.own or self.splitter.mentions(source) == count

    # --- one block --------------------------------------------------------------------------------

    def in_block(self, nests: list[Nest], box: Box) -> list[Stmt]:
        location = nests[0].each.location
        block = self.splitter.new.add(f"{box.source.name}_box", box.source.dtype, box.shape, location)
        outside = box.source not in self.splitter.own
        users = [nest for nest in nests if box.source in used(nest.each)]
        moved = {id(nest): self.with_block(nest, box, block) for nest in users}
        first = moved[id(users[0])]
        axes = new_axes(box.shape)
        variables = tuple(axis.var for axis in axes)
        there, here = box.access(variables), Access(block, variables)
        result: list[Stmt] = [moved.get(id(nest), nest).stmt() for nest in nests]
        if outside and not _fills(first, block):
            result.insert(nests.index(users[0]), Each(axes, here, there, location=location))
        if outside:
            result.append(Each(axes, there, here, location=nests[-1].each.location))
        return result

    def with_block(self, nest: Nest, box: Box, block: Buffer) -> Nest:
        """A nest on a block in place of a box. Where the box is outside of what it was, the block may hold anything."""
        there = Access(block, tuple(_walking(nest, box)))

        def change(part: object, _: fields.Mark | None) -> object:
            return there if isinstance(part, Access) and part.source is box.source else None

        each = nest.each
        clipped = isinstance(box.source, Tensor) or box.source in self.splitter.own
        if each.target.source is box.source and clipped:
            each = replace(each, guard=reduce(both, _needed(each), None))
        return replace(nest, each=fields.rebuilt(each, change))

    # --- parts ------------------------------------------------------------------------------------

    def in_parts(self, nests: list[Nest], box: Box) -> list[Stmt] | None:
        """Loops over parts of a box, around statements on one of them."""
        sides = [*(1 for _ in box.shape[:-_MATRIX]), *map(_side, box.shape[-_MATRIX:])]
        variables = tuple(axis.var for axis in new_axes(box.shape))
        alike = [_renamed(nest, box, variables) for nest in nests]
        if prod(sides) > _MOST_UNDIVIDED or not _fusible(alike, variables, box.source):
            return None
        outer = [scalar.var(f"{var.name}_part") for var in variables]
        parts = dict(zip(variables, zip(outer, sides, box.shape, strict=True), strict=True))
        body: list[Stmt] = [_part(nest, parts).stmt() for nest in alike]
        for source in [box.source, *(own for own in self.splitter.own if own is not box.source)]:
            if any(source in used(stmt) for stmt in body):
                kept = self.kept(body, source)
                if kept is None:
                    return None
                body = kept
        rounds = [(var, scalar.const(-(-length // side))) for var, side, length in parts.values()]
        return list(loops_around(((var, n) for var, n in rounds), tuple(body), nests[0].each))


def _side(length: int) -> int:
    """The length of a part: one that divides the box, if there is one."""
    if length <= _SIDES[0]:
        return length
    return next((side for side in _SIDES if length % side == 0), _SIDES[2])


def _box(nest: Nest, source: Place) -> Box | None:
    """The box that a nest walks of a tensor or block: all of its accesses are to the same element of it."""
    found = [access for access in nest.each.accesses if access.source is source]
    if any(not all(map(scalar.same_form, access.indices, found[0].indices)) for access in found):
        return None
    starts, lengths, seen = list[Expr](), list[int | None](), set[Var]()
    for index in found[0].indices:
        (var, *others) = [var for var in scalar.variables(index) if var in nest.extents] or (None,)
        start = index if var is None else scalar.simplify(index - var)
        length = None if var is None else nest.extents[var]
        if others or var in seen or (var is not None and (length is None or var in scalar.variables(start))):
            return None
        seen |= {var} if var is not None else set()
        starts.append(start)
        lengths.append(length)
    return Box(source, tuple(starts), tuple(lengths))


def _same_box(a: Box | None, b: Box | None) -> bool:
    if a is None or b is None or a.lengths != b.lengths:
        return False
    return all(map(scalar.same_form, a.starts, b.starts))


def _walking(nest: Nest, box: Box) -> list[Var]:
    """The loops that walk the axes of a box, in the order of its axes."""
    access = next(access for access in nest.each.accesses if access.source is box.source)
    return [var for index in access.indices for var in scalar.variables(index) if var in nest.extents]


def _needed(each: Each) -> Iterator[ElementExpr]:
    """Conditions of an assignment other than that its target is inside of what it belongs to."""
    target = each.target
    shape: tuple[Expr | int, ...] = target.source.shape
    pairs = list(zip(target.indices, shape, strict=True))
    inside = [*(index < length for index, length in pairs), *(index >= 0 for index, _ in pairs)]
    for test in conjuncts(each.guard):
        if not isinstance(test, Scalar):
            yield test
            continue
        for part in conditions(test.expr):
            if not any(same_test(part, one) for one in inside):
                yield Scalar(part, "bool")


def _fills(nest: Nest, block: Buffer) -> bool:
    """Whether a nest assigns all of a block, and reads nothing of it."""
    each = nest.each
    read = any(access.source is block for access in each.accesses[1:])
    return each.target.source is block and each.guard is None and each.combine is None and not read


def _renamed(nest: Nest, box: Box, variables: tuple[Var, ...]) -> Nest:
    """A nest whose loops over a box have certain variables."""
    names: dict[Var, Var] = dict(zip(_walking(nest, box), variables, strict=True))
    each = fields.with_expressions(nest.each, lambda expr: scalar.substitute(expr, names))
    loops = tuple((names.get(var, var), extent) for var, extent in nest.loops)
    return Nest(loops, nest.axes, each)


def _fusible(nests: list[Nest], variables: tuple[Var, ...], source: Place) -> bool:
    """Whether rounds may be done in any order, and one may do all statements before the next one does the first."""
    for thing in dict.fromkeys(nest.each.target.source for nest in nests):
        users = [nest for nest in nests if thing in used(nest.each)]
        accesses = [one for nest in users for one in nest.each.accesses if one.source is thing]
        inner = {var for nest in users for var in nest.extents if var not in variables}
        if thing is not source and not all(apart(var, accesses, inner) for var in variables):
            return False
    return True


def _part(nest: Nest, parts: dict[Var, tuple[Var, int, int]]) -> Nest:
    """A nest on one part of a box."""
    values: dict[Var, Expr] = {}
    loops: list[tuple[Var, Expr]] = []
    guard, axes = nest.each.guard, nest.axes
    for number, (var, extent) in enumerate(nest.loops):
        outer, side, length = parts.get(var, (None, 0, 0))
        if outer is None:
            loops.append((var, extent))
        elif side == 1:
            values[var] = outer
            axes -= number >= len(nest.loops) - nest.axes
        else:
            inner = scalar.var(str(var.name))
            values[var] = outer * side + inner
            loops.append((inner, scalar.const(side)))
            if length % side:
                guard = both(guard, Scalar(var < length, "bool"))
    each = fields.with_expressions(replace(nest.each, guard=guard), lambda expr: scalar.substitute(expr, values))
    return Nest(tuple(loops), axes, each)
