"""Access elements of blocks that do not form whole tiles: `x[k]`, `x[i, 3]`, `x[i, 4 * k + j]`, `x[i // 4]`.

    before   for i, j in T.Parallel(64, 4):
                 y[i, j] = x[i, 4 * k + j]
    after    Loop j < 4
                 Map x_rest = where([column] == 4 * k + j, x, 0) ; Reduce x_at = sum of x_rest along columns
                 Map y = where([column] == j, x_at[i], y)

In three steps:
- A T.Parallel loop whose variable does not cover whole tiles becomes a serial loop; its iterations are independent.
- A store to one index along an axis becomes a store along the whole axis, under the condition that it is that index.
- A load from one index becomes a sum along the axis, of that element and zeros.
"""

from __future__ import annotations

from typing import Any, NoReturn

from tvm import tirx

from tilelang_tt.arch import TILE
from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.frontend.scope import Scope
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Element, Index, Number, value_type
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Map, Reduce, Stmt
from tilelang_tt.ops.expressions import apply, numeral

Loops = list[tuple[Var, int]]

_MATRIX = 2  # axes
_NARROW = ("bfloat16", "float16")  # the matrix engine takes these in as they are


def serial_loops(scope: Scope, loops: Loops, store: Any, condition: Any) -> Loops:
    """The loops that access some block other than by whole tiles."""
    found: set[int] = set()
    trees = [tree for tree in (store.value, condition) if tree is not None]
    accesses = [(load, False) for tree in trees for load in _loads(tree)] + [(store, True)]
    for access, written in accesses:
        if access.buffer in scope.buffers:
            found |= _irregular(scope.buffers[access.buffer], access, loops, written)
        else:
            found |= _no_box(store, access, loops) or _beside_anywhere(access, loops)
    found |= _counted_with(store, trees, loops)
    if not found:
        found = _matrix_by_matrix(scope, accesses, loops)
    return [loop for number, loop in enumerate(loops) if number in found]


def check_inside(scope: Scope, loops: Loops, store: Any, condition: Any, location: Location | None) -> None:
    """Refuse an access outside a block, unless a condition prevents it."""
    if condition is not None:
        return
    choices = [node for node in scalar.nodes(store.value) if scalar.is_choice(node) or isinstance(node, tirx.Select)]
    guarded = [load for choice in choices for load in scalar.nodes(choice, tirx.BufferLoad)]
    unguarded = [load for load in _loads(store.value) if not any(load.same_as(other) for other in guarded)]
    for access in [access for access in (store, *unguarded) if access.buffer in scope.buffers]:
        for axis, (index, size) in enumerate(zip(access.indices, access.buffer.shape, strict=True)):
            *factors, base = scalar.linear(index, [var for var, _ in loops]) or (None,)
            first = scalar.int_value(base) if base is not None else None
            if first is None:
                continue
            steps = [factor * (extent - 1) for factor, (_, extent) in zip(factors, loops, strict=True)]
            low, high = first + sum(min(0, step) for step in steps), first + sum(max(0, step) for step in steps)
            if low < 0 or high >= int(size):
                refuse_beyond(access.buffer.name, axis, scalar.const(low), scalar.const(high), int(size), location)


def refuse_beyond(name: str, axis: int, first: Expr, last: Expr, size: int, location: Location | None) -> NoReturn:
    used = f"element {first}" if scalar.equal(first, last) else f"elements {first} to {last}"
    raise UnsupportedError(
        "TT154",
        f"{used} of axis {axis} of '{name}' {'is' if ' to ' not in used else 'are'} used; it has {size}",
        location=location,
        help="let T.Parallel go no further than the block, or make the block as long",
    )


def _matrix_by_matrix(scope: Scope, accesses: list[tuple[Any, bool]], loops: Loops) -> set[int]:
    """Of more than two loops those outside of matrices, unless all boxes are walked alike: axis by axis, in order.

    They are those that walk the outer axes of blocks; if none does, all but the last two of the target's.
    """
    walks = [[(index, number) for index in access.indices for number in _used(index, loops)] for access, _ in accesses]
    order = [number for _, number in walks[-1]]
    if len(order) <= _MATRIX:
        return set()
    boxes = all(_is_plain(index, loops[number][0]) for walk in walks for index, number in walk)
    if boxes and all([number for _, number in walk] == order for walk in walks):
        return set()
    outer: set[int] = set()
    for access, _ in accesses:
        if access.buffer in scope.buffers:
            axes = [axis for axis, extent in enumerate(access.buffer.shape) if scalar.int_value(extent) != 1]
            outer.update(number for axis in axes[:-_MATRIX] for number in _used(access.indices[axis], loops))
    return outer or set(order[:-_MATRIX])


def _is_plain(index: Expr, var: Var) -> bool:
    """Whether an axis is walked place by place, from anywhere on."""
    return var not in scalar.variables(scalar.simplify(index - var))


def _counted_with(store: Any, trees: list[Any], loops: Loops) -> set[int]:
    """Loops over the matrices of a block, or of a box, if variables are numbers in what is computed.

    Tiles hold positions along the rows and columns of one matrix.
    """
    walking = [used for index in store.indices if (used := _used(index, loops))]  # axis by axis
    computed = [scalar.replace_loads(tree, lambda load: tirx.Var("element", load.dtype)) for tree in trees]
    numbers = {var for tree in computed for var in scalar.variables(tree)}
    counted = any(loops[number][0] in numbers for used in walking for number in used)
    return {number for used in walking[:-_MATRIX] for number in used} if counted else set()


def _loads(tree: Any) -> list[Any]:
    """Elements that an expression reads; those that only say where another one is are none of it."""
    found = scalar.nodes(tree, tirx.BufferLoad)
    inner = [node for load in found for index in load.indices for node in scalar.nodes(index)]
    return [load for load in found if not any(load.same_as(node) for node in inner)]


def _irregular(block: Buffer, access: Any, loops: Loops, written: bool) -> set[int]:
    axes = [axis for axis, extent in enumerate(access.buffer.shape) if scalar.int_value(extent) != 1]
    used = [_used(access.indices[axis], loops) for axis in axes]
    found: set[int] = set()
    whole = all(
        len(walking) == 1
        and scalar.same_form(access.indices[axis], loops[walking[0]][0])
        and loops[walking[0]][1] == scalar.int_value(access.buffer.shape[axis])
        for axis, walking in zip(axes, used, strict=True)
    )
    for number, (axis, walking) in enumerate(zip(axes, used, strict=True)):
        if not walking or (whole and used.count(walking) == 1):
            continue
        if len(walking) > 1:
            found.update(_all_but_one(access.indices[axis], loops, walking))
            continue
        var, extent = loops[walking[0]]
        start = scalar.simplify(access.indices[axis] - var)
        outer = number < len(block.shape) - 2
        ends = scalar.equal(start + extent, access.buffer.shape[axis])
        if (
            var in scalar.variables(start)
            or used.count(walking) > 1
            or outer
            or scalar.granularity(start) % TILE
            or (written and extent % TILE and not ends)
        ):
            found.update(walking)
    return found


def _beside_anywhere(access: Any, loops: Loops) -> set[int]:
    """Of a box of a tensor that starts anywhere along one axis, and inside a tile along others, the others' loops.

    Tensors can lie so that blocks start anywhere along their rows; what lies along a row has to start at tiles.
    """
    starts: dict[int, int] = {}
    for index in access.indices:
        for number in _used(index, loops):
            start = scalar.simplify(index - loops[number][0])
            if loops[number][0] in scalar.variables(start):
                return set()  # no box
            starts[number] = scalar.granularity(start)
    anywhere = [number for number, start in starts.items() if start == 1]
    return {number for number, start in starts.items() if anywhere and number != anywhere[-1] and start % TILE}


def _no_box(store: Any, access: Any, loops: Loops) -> set[int]:
    """Loops that keep an access of a tensor from being one of a box.

    Of several loops along one axis one may stay, which walks it place by place; no loop can walk several axes. Places
    may be looked up, or computed otherwise, along what lies along tile rows, and only to be read.
    """
    found: set[int] = set()
    walks = [(index, walking) for index in access.indices if (walking := _used(index, loops))]
    for index, walking in walks:
        if len(walking) > 1:
            others = _all_but_one(index, loops, walking)
            plain = [number for number in walking if _is_plain(index, loops[number][0])]
            longest = max(plain, key=lambda number: loops[number][1], default=None)
            found.update(others if len(others) < len(walking) else set(walking) - {longest})
    order = [number for _, walking in walks for number in walking]
    found.update(number for number in order if order.count(number) > 1)
    columns = [number for index in store.indices for number in _used(index, loops)][1:]
    for number, (index, walking) in enumerate(walks):
        rows = number == 0 and (len(walks) > 1 or walking[0] not in columns)
        looked_up = len(walking) == 1 and not _is_plain(index, loops[walking[0]][0])
        if looked_up and (access is store or not rows):
            found.update(walking)
    return found


def _all_but_one(index: Expr, loops: Loops, walking: list[int]) -> list[int]:
    """Of the loops of `32 * i + j` all but the one that walks whole tiles, wherever the others are."""
    for number in walking:
        var, extent = loops[number]
        start = scalar.simplify(index - var)
        if extent % TILE == 0 and var not in scalar.variables(start) and scalar.granularity(start) % TILE == 0:
            return [other for other in walking if other != number]
    return walking


def _used(index: Expr, loops: Loops) -> list[int]:
    variables = scalar.variables(index)
    return [number for number, (var, extent) in enumerate(loops) if extent > 1 and var in variables]


def widened(scope: Scope, loops: Loops, store: Any, condition: Any) -> tuple[Loops, Any, Any]:
    """Turn a store to one index along a tile axis into a store along the whole axis, under a condition."""
    if store.buffer not in scope.buffers:
        return loops, store, condition
    block = scope.buffers[store.buffer]
    axes = [axis for axis, extent in enumerate(store.buffer.shape) if scalar.int_value(extent) != 1][-2:]
    staying = [axis for axis in axes if not _used(store.indices[axis], loops)]
    if not staying:
        return loops, store, condition
    scope.partly_written[block] = None
    indices, more = list(store.indices), []
    for axis in staying:
        var = tirx.Var(f"place_{axis}", "int32")
        here = tirx.EQ(var, indices[axis])
        condition = here if condition is None else tirx.And(here, condition)
        indices[axis] = var
        more.append((var, int(store.buffer.shape[axis])))

    def same_place(load: Any) -> bool:
        return load.buffer.same_as(store.buffer) and all(map(scalar.same_form, load.indices, store.indices))

    value = scalar.replace_loads(store.value, lambda _: tirx.BufferLoad(store.buffer, indices), same_place)
    return [*loops, *more], tirx.BufferStore(store.buffer, value, indices), condition


def pick(scope: Scope, source: Buffer, axis: int, place: Expr, location: Location | None) -> tuple[Buffer, list[Stmt]]:
    """A block of the elements of `source` at one index along an axis, and the statements that fill it."""
    factors = tuple(int(along == axis) for along in range(len(source.shape)))
    here = apply("eq", Index(factors, scalar.simplify(-place)), Number(0, "int32"))
    alone = apply("where", here, Element(source), numeral(0, value_type(source.dtype)))
    shape = tuple(extent for along, extent in enumerate(source.shape) if along != axis)
    narrow = source.dtype in _NARROW
    dtype = "float32" if value_type(source.dtype) == "float32" and not narrow else source.dtype
    rest = scope.temporary(source.name, dtype, source.shape, location, "rest")
    result = scope.temporary(source.name, dtype, shape, location, "at")
    summed = Reduce("sum", rest, result, axis, True, location, exact=not narrow)
    return result, [Map(rest, alone, location), summed]
