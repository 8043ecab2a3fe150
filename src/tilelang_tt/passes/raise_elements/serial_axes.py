"""Axes that do not walk whole tiles: `x[k]`, `x[i, 3]`, `x[i, 4 * k + j]`, `x[i // 4]`.

    before   Each i < 64, j < 4: y[i, j] = x[i, 4 * k + j]
    after    Loop j < 4
                 Map x_rest = where([column] == 4 * k + j, x, 0) ; Reduce x_at = sum of x_rest along columns
                 Map y = where([column] == j, x_at[i], y)

In three steps:
- An axis that does not cover whole tiles becomes a serial loop; iterations are independent.
- A store to one index along an axis becomes a store along the whole axis, under the condition that it is that index.
- A load from one index becomes a sum along the axis, of that element and zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NoReturn

from tilelang_tt.arch import TILE
from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.ir import fields, scalar
from tilelang_tt.ir.buffers import Buffer, Tensor
from tilelang_tt.ir.elements import (
    Access,
    Apply,
    Element,
    ElementExpr,
    Index,
    Number,
    Scalar,
    parts,
    value_type,
    with_parts,
)
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Axis, Each, Map, Reduce, Stmt
from tilelang_tt.ops.expressions import apply, both, numeral
from tilelang_tt.passes.raise_elements.raising import Raising

Axes = tuple[Axis, ...]

_MATRIX = 2  # axes
_NARROW = ("bfloat16", "float16")  # the matrix engine takes these in as they are


def serial_axes(each: Each) -> Axes:
    """The axes along which some block is accessed other than by whole tiles."""
    found: set[int] = set()
    for access in each.accesses:
        if isinstance(access.source, Buffer):
            found |= _irregular(access, each)
        else:
            found |= _no_box(access, each) or _beside_anywhere(access, each)
    found |= _counted_with(each) or (set() if found else _matrix_by_matrix(each))
    return tuple(axis for number, axis in enumerate(each.axes) if number in found)


def without_single(each: Each) -> Each:
    """A statement without axes of one iteration."""
    single = {axis.var: scalar.const(0) for axis in each.axes if axis.extent == 1}
    if not single:
        return each
    each = replace(each, axes=tuple(axis for axis in each.axes if axis.extent != 1))
    return fields.with_expressions(each, lambda expr: scalar.substitute(expr, single))


def check_inside(each: Each) -> None:
    """Refuse an access outside a block, unless a condition prevents it."""
    if each.guard is not None:
        return
    for access in (each.target, *_unguarded(each.value)):
        if isinstance(access.source, Buffer):
            for axis, (index, size) in enumerate(zip(access.indices, access.source.shape, strict=True)):
                _check_axis(access.source, axis, index, size, each)


def _unguarded(value: ElementExpr) -> Iterator[Access]:
    """Elements that are used whatever the conditions inside a value are."""
    if isinstance(value, Access):
        yield value
    elif isinstance(value, Apply) and value.op != "where":
        for part in value.args:
            yield from _unguarded(part)


def _check_axis(block: Buffer, axis: int, index: Expr, size: int, each: Each) -> None:
    *factors, base = scalar.linear(index, list(each.extents)) or (None,)
    first = scalar.int_value(base) if base is not None else None
    if first is None:
        return
    steps = [factor * (extent - 1) for factor, extent in zip(factors, each.extents.values(), strict=True)]
    low, high = first + sum(min(0, step) for step in steps), first + sum(max(0, step) for step in steps)
    if low < 0 or high >= size:
        refuse_beyond(block.name, axis, scalar.const(low), scalar.const(high), size, each.location)


def refuse_beyond(name: str, axis: int, first: Expr, last: Expr, size: int, location: Location | None) -> NoReturn:
    used = f"element {first}" if scalar.equal(first, last) else f"elements {first} to {last}"
    raise UnsupportedError(
        "TT154",
        f"{used} of axis {axis} of '{name}' {'is' if ' to ' not in used else 'are'} used; it has {size}",
        location=location,
        help="let T.Parallel go no further than the block, or make the block as long",
    )


def _matrix_by_matrix(each: Each) -> set[int]:
    """Of more than two axes those outside of matrices, unless all boxes are walked alike: axis by axis, in order.

    They are those that walk the outer axes of blocks; if none does, all but the last two of the target's.
    """
    accessed = each.accesses
    walks = [[(index, number) for index in access.indices for number in _used(index, each)] for access in accessed]
    order = [number for _, number in walks[0]]  # of the target
    if len(order) <= _MATRIX:
        return set()
    boxes = all(_is_plain(index, each.axes[number].var) for walk in walks for index, number in walk)
    if boxes and all([number for _, number in walk] == order for walk in walks):
        return set()
    blocks = [access for access in accessed if isinstance(access.source, Buffer)]
    outer = {number for block in blocks for index in block.indices[:-_MATRIX] for number in _used(index, each)}
    return outer or set(order[:-_MATRIX])


def _is_plain(index: Expr, var: Var) -> bool:
    """Whether an axis is walked place by place, from anywhere on."""
    return var not in scalar.variables(scalar.simplify(index - var))


def _counted_with(each: Each) -> set[int]:
    """Axes over the matrices of a block, or of a box, if variables are numbers in what is computed.

    Tiles hold positions along the rows and columns of one matrix.
    """
    walking = [used for index in each.target.indices if (used := _used(index, each))]  # axis by axis
    computed = [part for tree in (each.value, each.guard) if tree is not None for part in parts(tree)]
    numbers = {var for part in computed if isinstance(part, Scalar) for var in scalar.variables(part.expr)}
    counted = any(each.axes[number].var in numbers for used in walking for number in used)
    return {number for used in walking[:-_MATRIX] for number in used} if counted else set()


def _irregular(access: Access, each: Each) -> set[int]:
    """Axes that walk a block other than by whole tiles."""
    axes = each.axes
    shape = tuple(map(scalar.int_value, access.source.shape))
    used = [_used(index, each) for index in access.indices]
    found: set[int] = set()
    whole = all(
        len(walking) == 1 and scalar.same_form(index, axes[walking[0]].var) and axes[walking[0]].extent == size
        for index, walking, size in zip(access.indices, used, shape, strict=True)
    )
    for number, (index, walking) in enumerate(zip(access.indices, used, strict=True)):
        if not walking or (whole and used.count(walking) == 1):
            continue
        if len(walking) > 1:
            found.update(_all_but_one(index, axes, walking))
            continue
        axis = axes[walking[0]]
        start = scalar.simplify(index - axis.var)
        ends = scalar.equal(start + axis.extent, access.source.shape[number])
        if (
            axis.var in scalar.variables(start)
            or used.count(walking) > 1
            or number < len(shape) - _MATRIX
            or scalar.granularity(start) % TILE
            or (access is each.target and axis.extent % TILE and not ends)
        ):
            found.update(walking)
    return found


def _beside_anywhere(access: Access, each: Each) -> set[int]:
    """Of a box of a tensor that starts anywhere along one axis, and inside a tile along others, the others' axes.

    Tensors can lie so that blocks start anywhere along their rows; what lies along a row has to start at tiles.
    """
    starts: dict[int, int] = {}
    for index in access.indices:
        for number in _used(index, each):
            var = each.axes[number].var
            start = scalar.simplify(index - var)
            if var in scalar.variables(start):
                return set()  # no box
            starts[number] = scalar.granularity(start)
    anywhere = [number for number, start in starts.items() if start == 1]
    return {number for number, start in starts.items() if anywhere and number != anywhere[-1] and start % TILE}


def _no_box(access: Access, each: Each) -> set[int]:
    """Axes that keep an access of a tensor from being one of a box.

    Of several along one axis of the tensor one may stay, which walks it place by place; none can walk several. Places
    may be looked up, or computed otherwise, along what lies along tile rows, and only to be read.
    """
    axes, found = each.axes, set[int]()
    walks = [(index, walking) for index in access.indices if (walking := _used(index, each))]
    for index, walking in walks:
        if len(walking) > 1:
            others = _all_but_one(index, axes, walking)
            plain = [number for number in walking if _is_plain(index, axes[number].var)]
            longest = max(plain, key=lambda number: axes[number].extent, default=None)
            found.update(others if len(others) < len(walking) else set(walking) - {longest})
    order = [number for _, walking in walks for number in walking]
    found.update(number for number in order if order.count(number) > 1)
    columns = [number for index in each.target.indices for number in _used(index, each)][1:]
    for number, (index, walking) in enumerate(walks):
        rows = number == 0 and (len(walks) > 1 or walking[0] not in columns)
        looked_up = len(walking) == 1 and not _is_plain(index, axes[walking[0]].var)
        if looked_up and (access is each.target or not rows):
            found.update(walking)
    return found


def _all_but_one(index: Expr, axes: Axes, walking: list[int]) -> list[int]:
    """Of the axes of `32 * i + j` all but the one that walks whole tiles, wherever the others are."""
    for number in walking:
        var, extent = axes[number].var, axes[number].extent
        start = scalar.simplify(index - var)
        if extent % TILE == 0 and var not in scalar.variables(start) and scalar.granularity(start) % TILE == 0:
            return [other for other in walking if other != number]
    return walking


def _used(index: Expr, each: Each) -> list[int]:
    """The axes that an index depends on, directly or through numbers that are looked up for it."""
    variables = each.depends_on(index)
    return [number for number, axis in enumerate(each.axes) if axis.var in variables]


def widened(raising: Raising, each: Each) -> Each:
    """Turn a store to one index along a tile axis into a store along the whole axis, under a condition."""
    target = each.target
    if isinstance(target.source, Tensor):
        return each
    block, indices = target.source, list(target.indices)
    axes = range(max(0, len(indices) - _MATRIX), len(indices))
    staying = [axis for axis in axes if not _used(indices[axis], each)]
    if not staying:
        return each
    raising.partly_written[block] = None
    guard, more = each.guard, []
    for axis in staying:
        var = scalar.var(f"place_{axis}")
        here = Scalar(scalar.is_equal(var, indices[axis]), "bool")
        guard = both(here, guard)
        indices[axis] = var
        more.append(Axis(var, block.shape[axis]))
    there = Access(block, tuple(indices))

    def moved(part: ElementExpr) -> ElementExpr | None:
        if not isinstance(part, Access) or part.source is not block:
            return None
        return there if all(map(scalar.same_form, part.indices, target.indices)) else None

    value = with_parts(each.value, moved)
    return replace(each, axes=(*each.axes, *more), target=there, value=value, guard=guard)


def pick(raising: Raising, source: Buffer, axis: int, at: Expr, location: Location | None) -> tuple[Buffer, list[Stmt]]:
    """A block of the elements of `source` at one index along an axis, and the statements that fill it."""
    factors = tuple(int(along == axis) for along in range(len(source.shape)))
    here = apply("eq", Index(factors, scalar.simplify(-at)), Number(0, "int32"))
    alone = apply("where", here, Element(source), numeral(0, value_type(source.dtype)))
    shape = tuple(extent for along, extent in enumerate(source.shape) if along != axis)
    narrow = source.dtype in _NARROW
    dtype = "float32" if value_type(source.dtype) == "float32" and not narrow else source.dtype
    rest = raising.temporary(source.name, dtype, source.shape, location, "rest")
    result = raising.temporary(source.name, dtype, shape, location, "at")
    summed = Reduce("sum", rest, result, axis, True, location, exact=not narrow)
    return result, [Map(rest, alone, location), summed]
