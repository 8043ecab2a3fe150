"""Write a sum of products as tile statements: fill blocks with its operands, multiply or reduce them, add the result.

    Loop k < 64 : Each i < 64, j < 32: C[i, j] = C[i, j] + A[i, k] * b[k, j] where bool[i < n]

    Each i < 64, k < 64: A_operand[i, k] = A[i, k]
    Gemm C_sum = A_operand @ b
    Each i < 64, j < 32: C[i, j] = C[i, j] + C_sum[i, j] where bool[i < n]

A float32 operand goes to the matrix engine in pieces (`operand_pieces`); with fast math one product does.
A block that is walked from end to end is an operand as it is, and a block that is all of the target is added to
directly. Operands from tensors are taken in parts along what is summed over, if they are long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from tilelang_tt.arch import TILE
from tilelang_tt.formats import INTEGERS
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Region, Tensor, whole
from tilelang_tt.ir.elements import Access, ElementExpr, Scalar, accesses, with_parts
from tilelang_tt.ir.generic import assigned
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Axis, Branch, Copy, Each, Fill, Gemm, Reduce, Stmt
from tilelang_tt.ops.expressions import apply, both, numeral
from tilelang_tt.passes.raise_elements.nests import Nest, loops_around
from tilelang_tt.passes.raise_elements.new_blocks import NewBlocks
from tilelang_tt.passes.raise_elements.operand_pieces import multiplied_pieces, pieces
from tilelang_tt.passes.raise_elements.sums_of_products import (
    BYTES,
    Sum,
    depends_on,
    multiplied,
    operand_type,
    plain_access,
)

_MOST_ELEMENTS = 1 << 15  # of an operand: 64 KiB of bfloat16
_PART = 64  # of a sum whose length is known only at run time


@dataclass(frozen=True)
class _Part:
    """What is summed over, or a part of it: `axis` counts inside the part, `loops` the parts."""

    axis: Axis
    place: Expr  # of the whole
    loops: tuple[tuple[Var, Expr], ...] = ()
    total: Expr | None = None  # where it ends, if the last part may be longer than what is left


@dataclass(frozen=True)
class _Operand:
    block: Buffer
    turned: bool  # what is summed over lies along its rows for the left operand, along its columns for the right one
    filling: tuple[Stmt, ...] = ()


class ProductWriter:
    def __init__(self, new: NewBlocks, few_bits: set[Buffer], *, all_bits: bool) -> None:
        self.new = new
        self.few_bits = few_bits  # float32 blocks that the matrix engine takes as they are
        self.all_bits = all_bits  # whether products of float32 keep more than the matrix engine takes in

    def statements(self, nest: Nest, one: Sum) -> tuple[Stmt, ...]:
        target, location = nest.each.target, nest.each.location
        axes = [Axis(var, nest.extents[var] or 0) for var in (one.row, one.col) if var is not None]
        direct = _is_whole(target, axes) and not one.tests and not one.scale and _adds_exactly(target, one)
        block = target.source if direct else self.sum_block(target, axes)
        assert isinstance(block, Buffer)
        part = self.part(nest, one, axes)
        inner = self.product(nest, one, axes, block, part)
        mine = {one.row, one.col, one.along}
        around = [(var, extent) for var, extent in nest.loops if var not in mine]
        if direct:
            return loops_around(around, _under(one, loops_around(part.loops, inner, nest.each)), nest.each)
        added: tuple[ElementExpr, ...] = (*one.scale, *one.tests, *one.steering, target)
        fixed = set[Var]().union(*map(depends_on, added))
        outside = [loop for loop in around if loop[0] in fixed]
        inside = [*(loop for loop in around if loop[0] not in fixed), *part.loops]
        whole = (Fill(block, 0.0, location), *loops_around(inside, inner, nest.each))
        return loops_around(outside, _under(one, (*whole, _added(nest, one, axes, block))), nest.each)

    def sum_block(self, target: Access, axes: list[Axis]) -> Buffer:
        dtype = target.source.dtype if target.source.dtype in INTEGERS else "float32"
        return self.new.add(f"{target.source.name}_sum", dtype, tuple(axis.extent for axis in axes), None)

    def product(self, nest: Nest, one: Sum, axes: list[Axis], target: Buffer, part: _Part) -> tuple[Stmt, ...]:
        """What is done for one part of what is summed over."""
        location = nest.each.location
        if one.col is None:
            return self.reduction(nest, one, axes, target, part)
        row, col = axes
        left = self.operand(nest, one.left, one.left_tests, row, part, one)
        right = self.operand(nest, one.right, one.right_tests, col, part, one)
        first, second = self.split(left.block), self.split(right.block)
        a = pieces(left.block, self.new, location, split=first, other_split=second)
        b = pieces(right.block, self.new, location, split=second, other_split=first)
        products = (
            Gemm(one, other, target, left.turned, not right.turned, scalar.false(), location=location)
            for one, other in multiplied_pieces(a, b)
        )
        return (*left.filling, *right.filling, *a.filling, *b.filling, *products)

    def split(self, block: Buffer) -> bool:
        """Whether a block goes to the matrix engine in pieces."""
        return self.all_bits and block.dtype == "float32" and block not in self.few_bits

    def reduction(self, nest: Nest, one: Sum, axes: list[Axis], target: Buffer, part: _Part) -> tuple[Stmt, ...]:
        location = nest.each.location
        walked = _ordered([*axes, part.axis], _moved(multiplied(one.left), one.along, part))
        dtype = target.dtype if target.dtype in INTEGERS else "float32"
        block = self.new.add(f"{target.name}_terms", dtype, tuple(axis.extent for axis in walked), location)
        value = _moved(_value(multiplied(one.left), one.left_tests, part, one.along), one.along, part)
        filling = assigned(tuple(walked), Access(block, tuple(axis.var for axis in walked)), value, location)
        return (filling, Reduce("sum", block, target, walked.index(part.axis), False, location))

    # --- operands ---------------------------------------------------------------------------------

    def operand(
        self,
        nest: Nest,
        factors: tuple[ElementExpr, ...],
        tests: tuple[ElementExpr, ...],
        axis: Axis,
        part: _Part,
        one: Sum,
    ) -> _Operand:
        access, dtype = plain_access(factors), _stored_type(factors, nest, one)
        axes = _ordered([axis, part.axis], _moved(multiplied(factors), one.along, part))
        turned = axes[0] is part.axis
        if access is not None and not tests and dtype == access.source.dtype and _is_whole(access, axes):
            assert isinstance(access.source, Buffer)
            return _Operand(access.source, turned)
        value: ElementExpr = access if access is not None and dtype in BYTES else multiplied(factors)
        value = _moved(_value(value, tests, part, one.along), one.along, part)
        name = next((found.source.name for factor in factors for found in accesses(factor)), "left")
        shape = tuple(one_axis.extent for one_axis in axes)
        block = self.new.add(f"{name}_operand", dtype, shape, nest.each.location)
        if box := _box(value, axes):
            return _Operand(block, turned, (Copy(box, whole(block), nest.each.location),))
        place = Access(block, tuple(one_axis.var for one_axis in axes))
        return _Operand(block, turned, (assigned(tuple(axes), place, value, nest.each.location),))

    def part(self, nest: Nest, one: Sum, axes: list[Axis]) -> _Part:
        """What is summed over at a time: all of it, or as much as fits a block."""
        extent = nest.extents[one.along]
        around = Axis(one.along, extent or _PART)
        sides = [(one.left, one.left_tests, axes[:1]), (one.right, one.right_tests, axes[1:])]
        in_blocks = [
            (access := plain_access(factors)) is not None
            and not tests
            and _is_whole(access, _ordered([*axis, around], access))
            for factors, tests, axis in sides
            if factors
        ]
        longest = max((axis.extent for axis in axes), default=1)
        if extent is not None and (any(in_blocks) or extent * longest <= _MOST_ELEMENTS):
            return _Part(around, one.along)
        length = _PART if extent is None else _length(extent, longest)
        var, number = scalar.var(str(one.along.name)), scalar.var(f"{one.along.name}_part")
        total = dict(nest.loops)[one.along]
        place = number * length + var
        end = None if extent is not None and extent % length == 0 else total
        return _Part(Axis(var, length), place, ((number, scalar.ceildiv(total, length)),), end)


def _length(extent: int, longest: int) -> int:
    """Of a part: one that divides the whole, if there is one of a few tiles."""
    most = max(TILE, _MOST_ELEMENTS // longest // TILE * TILE)
    return next((length for length in range(most, TILE - 1, -TILE) if extent % length == 0), most)


def _stored_type(factors: tuple[ElementExpr, ...], nest: Nest, one: Sum) -> str:
    """The type of an operand's block: bytes beside floats are floats."""
    accumulator = nest.each.target.source.dtype
    types = [operand_type(side, accumulator) or "" for side in (one.left, one.right)]
    own = operand_type(factors, accumulator) or ""
    return "bfloat16" if own in BYTES and not all(dtype in BYTES for dtype in types) else own


def _ordered(axes: list[Axis], value: ElementExpr) -> list[Axis]:
    """Axes in the order in which the first access that has all of them is walked."""
    variables = {axis.var: axis for axis in axes}
    for access in accesses(value):
        order = [var for index in access.indices for var in scalar.variables(index) if var in variables]
        if len(order) == len(set(order)) == len(axes):
            return [variables[var] for var in order]
    return axes


def _box(value: ElementExpr, axes: list[Axis]) -> Region | None:
    """The box of a tensor that axes walk, if it is one."""
    if not isinstance(value, Access) or not isinstance(value.source, Tensor):
        return None
    lengths = {axis.var: axis.extent for axis in axes}
    mins, extents, order = list[Expr](), list[int](), list[Var]()
    for index in value.indices:
        walking = [var for var in scalar.variables(index) if var in lengths]
        start = scalar.simplify(index - walking[0]) if walking else index
        if set(lengths) & set(scalar.variables(start)):
            return None
        mins.append(start)
        extents.append(lengths[walking[0]] if walking else 1)
        order += walking
    if order != list(lengths):
        return None
    return Region(value.source, tuple(mins), tuple(extents))


def _is_whole(access: Access, axes: list[Axis]) -> bool:
    """Whether axes walk a block from end to end."""
    source = access.source
    if not isinstance(source, Buffer) or source.shape != tuple(axis.extent for axis in axes):
        return False
    return all(scalar.same_form(index, axis.var) for index, axis in zip(access.indices, axes, strict=True))


def _adds_exactly(target: Access, one: Sum) -> bool:
    """Whether an engine adds to the target itself: sums of bytes are float32 or words."""
    byte = any(
        (found := plain_access(side)) is not None and found.source.dtype in BYTES
        for side in (one.left, one.right)
        if side
    )
    return not byte or target.source.dtype not in ("bfloat16", "float16")


def _value(value: ElementExpr, tests: tuple[ElementExpr, ...], part: _Part, along: Var) -> ElementExpr:
    """A factor, and zero where it is not to count."""
    test = reduce(both, tests, None)
    if part.total is not None and not _ends_at(part.total, value, along):
        test = both(test, Scalar(along < part.total, "bool"))
    return value if test is None else apply("where", test, value, numeral(0, value.dtype))


def _ends_at(total: Expr, value: ElementExpr, along: Var) -> bool:
    """Whether elements behind the end of what is summed over are outside of a tensor, and so zero."""
    if not isinstance(value, Access) or not isinstance(value.source, Tensor):
        return False
    axes = zip(value.indices, value.source.shape, strict=True)
    walked = ((index, length) for index, length in axes if along in scalar.variables(index))
    return any(scalar.equal(scalar.substitute(index, {along: total}), length) for index, length in walked)


def _moved(value: ElementExpr, along: Var, part: _Part) -> ElementExpr:
    """An expression over a part of what is summed over."""
    if not part.loops:
        return value

    def change(found: ElementExpr) -> ElementExpr | None:
        if isinstance(found, Access):
            return replace(
                found, indices=tuple(scalar.substitute(index, {along: part.place}) for index in found.indices)
            )
        if isinstance(found, Scalar):
            return replace(found, expr=scalar.substitute(found.expr, {along: part.place}))
        return None

    return with_parts(value, change)


def _under(one: Sum, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Statements under the conditions that decide for all of them."""
    if not one.steering:
        return body
    condition = reduce(scalar.both, (test.expr for test in one.steering))
    return (Branch(scalar.simplify(condition), body, (), None),)


def _added(nest: Nest, one: Sum, axes: list[Axis], block: Buffer) -> Each:
    """What was summed up, added to the target."""
    target, location = nest.each.target, nest.each.location
    found: ElementExpr = Access(block, tuple(axis.var for axis in axes))
    if one.scale:
        found = apply("mul", found, multiplied(one.scale))
    value = apply("add", target, found)
    return Each(tuple(axes), target, value, reduce(both, one.tests, None), location=location)
