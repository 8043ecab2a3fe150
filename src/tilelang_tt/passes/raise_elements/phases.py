"""Which axes lie in phases, and which loops follow them: part of `split_strides`.

An axis in n phases is kept as n pieces; phase r has its places r, r + n, r + 2 * n ... So `x[i, 2 * j + 1]` walks phase
1 of two, place by place. What is walked together is split together:

    Each i, j: ys[i, j] = xs[i, j // 2]         j is cut into 2 * j + 0 and 2 * j + 1, so ys lies in two phases
    Gemm C += A @ B                             columns of A are rows of B, rows of A are rows of C, and so on

A tensor that nothing writes can lie in memory in several ways at a time, so it follows every access by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import chain

from tilelang_tt.arch import TILE
from tilelang_tt.ir import fields, scalar
from tilelang_tt.ir.buffers import Buffer, Read, Tensor
from tilelang_tt.ir.elements import ElementExpr, Scalar, parts
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.generic import copied
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.scalar_forms import divisions
from tilelang_tt.ir.tile import Copy, Each, Fill, Gemm, Loop, Reduce, Stmt, TileProgram, reads, writes

MOST = 16  # phases: each is a block of its own

Place = Tensor | Buffer
Side = tuple[Place, int]  # an axis of a block or tensor


class NotSplitError(Exception):
    """Something cannot follow: a length that is not a multiple, a place that is known only when the kernel runs."""


class Phases:
    """How many phases the axes of blocks and written tensors have, and into how many every loop is cut."""

    def __init__(self, program: TileProgram) -> None:
        self.widths: dict[Side, int] = {}
        self.cuts: dict[Var, int] = {}
        self.started: set[int] = set()  # statements that ask for phases, by id
        body = [stmt for launch in program.launches for stmt in walk(launch.body)]
        self.forms: dict[int, Each] = {}  # statements that walk elements, by id
        self.same: list[tuple[Side, Side]] = []
        self.fixed: set[Place] = set()
        for stmt in body:
            self.learn(stmt)
        targets = {each.target.source for each in self.forms.values()}
        self.written = {place.param for place in targets if isinstance(place, Tensor)}
        viewed = {view.param for view in program.views if view.dtype != program.tensors_by_param[view.param].dtype}
        self.fixed |= {tensor for tensor in (*program.tensors, *program.views) if tensor.param in viewed}
        self.extents: dict[Var, int] = {}
        for axis in (axis for each in self.forms.values() for axis in each.axes):
            same = self.extents.setdefault(axis.var, axis.extent) == axis.extent
            self.extents[axis.var] = axis.extent if same else 0

    def learn(self, stmt: Stmt) -> None:
        if isinstance(stmt, Each):
            self.forms[id(stmt)] = stmt
            self.fixed |= {read.source for read in stmt.reads}
        elif isinstance(stmt, Copy):
            self.forms[id(stmt)] = copied(stmt)
        elif isinstance(stmt, Gemm):
            self.same += _of_product(stmt)
        elif isinstance(stmt, Reduce):
            kept = [axis for axis in range(len(stmt.src.shape)) if axis != stmt.axis]
            self.same += [((stmt.src, axis), (stmt.dst, number)) for number, axis in enumerate(kept)]
        elif isinstance(stmt, Read):
            self.fixed.add(stmt.source)
        elif not isinstance(stmt, Fill | Loop):
            self.fixed |= {*reads(stmt), *writes(stmt)}

    def copy(self) -> Phases:
        other = object.__new__(Phases)
        other.__dict__.update(self.__dict__)
        other.widths, other.cuts, other.started = dict(self.widths), dict(self.cuts), set(self.started)
        return other

    # --- what is asked for ------------------------------------------------------------------------

    def start(self, each: Each) -> None:
        """Phases for what a statement walks in strides, and cuts of the axes that it divides."""
        self.started.add(id(each))
        for side, index in _sides(each):
            step = _stride(index, each)
            if step > 1:
                self.need(side, step)
        for expr in _expressions(each):
            self.divide(expr, each)

    def divide(self, expr: Expr, each: Each) -> None:
        """Cut the axes in what is divided by a small number."""
        for _, of, by in divisions(expr):
            used = [var for var in each.extents if var in scalar.variables(of)]
            if not used or by % TILE == 0:
                continue
            factors = scalar.linear(of, used)
            if factors is None:
                raise NotSplitError
            for var, factor in zip(used, factors, strict=False):
                self.cut(var, by // math.gcd(by, int(factor)))

    def need(self, side: Side, count: int) -> None:
        place, axis = side
        if not self.follows_alone(place):
            width = math.lcm(self.widths.get(side, 1), count)
            length = scalar.int_value(place.shape[axis])
            if place in self.fixed or width > MOST or length is None or length % width:
                raise NotSplitError
            self.widths[side] = width

    def cut(self, var: Var, count: int) -> None:
        if count == 1:
            return
        extent, wanted = self.extents[var], math.lcm(self.cuts.get(var, 1), count)
        wanted = min(wanted, extent)  # so many rounds, one by one
        if wanted > MOST or not wanted or extent % wanted:
            raise NotSplitError
        self.cuts[var] = wanted

    def follows_alone(self, place: Place) -> bool:
        return isinstance(place, Tensor) and place.param not in self.written and place not in self.fixed

    # --- what follows -----------------------------------------------------------------------------

    def settle(self) -> None:
        """Everything that is walked together is split together."""
        before = None
        while before != (before := (dict(self.widths), dict(self.cuts))):
            for number, each in self.forms.items():
                if number in self.started or self.touches(each):
                    for side, index in _sides(each):
                        self.follow(side, index, each)
            for one, other in self.same:
                for this, that in ((one, other), (other, one)):
                    if this in self.widths:
                        self.need(that, self.widths[this])

    def touches(self, each: Each) -> bool:
        if any(axis.var in self.cuts for axis in each.axes):
            return True
        return any(side in self.widths for side, _ in _sides(each))

    def width(self, side: Side, index: Expr, each: Each) -> int:
        """The number of phases of an axis, as an access of a statement needs it."""
        if self.follows_alone(side[0]):
            return _stride(self.after_cuts(index, each), each)
        return self.widths.get(side, 1)

    def follow(self, side: Side, index: Expr, each: Each) -> None:
        """An access to an axis in phases cuts loops, and one by a loop that is cut splits the axis."""
        if any(var in self.cuts or side in self.widths for var in each.extents if var in scalar.variables(index)):
            self.divide(index, each)
        there = self.after_cuts(index, each)
        width = self.width(side, index, each)
        if width == 1:
            step = _stride(there, each)
            if step > 1 and any(var in self.cuts for var in scalar.variables(there)):
                self.need(side, step)
                width = self.width(side, index, each)
        if width == 1:
            return
        used = [var for var in each.extents if var in scalar.variables(there)]
        factors = scalar.linear(there, used)
        if factors is None or each.depends_on(index) & {read.var for read in each.reads}:
            raise NotSplitError
        for var, factor in zip(used, factors, strict=False):
            if int(factor) % width:
                self.cut(var, self.cuts.get(var, 1) * (width // math.gcd(int(factor), width)))
        if isinstance(side[0], Buffer) and scalar.modular(factors[-1])[0] % width:
            raise NotSplitError

    def after_cuts(self, index: Expr, each: Each) -> Expr:
        """An index in the first part of every loop that is cut, over its rounds."""
        values = {var: var * self.cuts[var] for var in each.extents if var in self.cuts}
        values |= {var: scalar.const(0) for var in values if self.cuts[var] >= self.extents[var]}
        return scalar.simplify(scalar.substitute(index, values)) if values else index


def _sides(each: Each) -> Iterator[tuple[Side, Expr]]:
    for access in each.accesses:
        for axis, index in enumerate(access.indices):
            yield (access.source, axis), index


def _expressions(each: Each) -> Iterator[Expr]:
    """Indices, and numbers in what is computed."""
    yield from (index for _, index in _sides(each))
    trees: Iterable[ElementExpr] = (each.value,) if each.guard is None else (each.value, each.guard)
    yield from (part.expr for part in chain(*map(parts, trees)) if isinstance(part, Scalar))


def _stride(index: Expr, each: Each) -> int:
    """How far apart the places are that the longest loop in an index walks; 1: they are side by side, or not walked."""
    used = [var for var in each.extents if var in scalar.variables(index)]
    factors = scalar.linear(index, used) if used else None
    if factors is None:
        return 1
    extents = each.extents
    step = int(max(zip(used, factors, strict=False), key=lambda pair: extents[pair[0]])[1])
    return step if 1 < step <= MOST else 1


def _of_product(gemm: Gemm) -> list[tuple[Side, Side]]:
    """The axes of a product that are walked together."""
    row, inner = (1, 0) if gemm.transpose_a else (0, 1)
    below, col = (1, 0) if gemm.transpose_b else (0, 1)
    return [((gemm.a, inner), (gemm.b, below)), ((gemm.a, row), (gemm.c, 0)), ((gemm.b, col), (gemm.c, 1))]


def held_places(stmt: Stmt) -> set[Place]:
    """Blocks and tensors that a statement itself names."""
    return {thing for thing, _ in fields.held(stmt) if isinstance(thing, Place)}
