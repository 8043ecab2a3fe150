"""Where the blocks of a launch lie in the shards of a tensor: the page each begins with, and its place in the shard.

Load A tiles (by * 2, k * 4) 2 x 4          A : shards of 2 x 16 tiles, one below the other
    -> block by = 3, round k = 1: page 100, place 4 of the shard of core 3
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilelang_tt.arch import TILE
from tilelang_tt.ir import dataflow, scalar, scalar_text
from tilelang_tt.ir.buffers import Tensor, TileAccess
from tilelang_tt.ir.layout import TensorLayout
from tilelang_tt.ir.scalar import Expr, Var, int_value
from tilelang_tt.ir.tile import Launch, Load, Store
from tilelang_tt.ir.units import Values

_MOST_ROUNDS = 1 << 16  # of a block: beyond that they are not looked at one by one

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Rounds = tuple[tuple[Var, Expr], ...]  # loops around a statement, outer before inner: variable and length


def variables_of(access: TileAccess) -> set[Var]:
    """What the place of a block depends on."""
    return {var for side in (access.batch, access.row, access.col) for var in scalar.variables(side)}


def first_pages(layout: TensorLayout, access: TileAccess, values: Sequence[Values]) -> Numbers:
    """The number of the first page of a block, for each of many values of the variables. One outside is -1."""
    batch, row, col = (numbers_of(side, values) for side in (access.batch, access.row, access.col))
    down, across = _pages_of_tile(layout)
    row, col = row * down, col * across
    rows, cols = map(int_value, layout.page_grid)
    assert rows is not None
    assert cols is not None
    inside = (batch >= 0) & (row >= 0) & (row < rows) & (col >= 0) & (col < cols)
    return np.where(inside, (batch * rows + row) * cols + col, -1)


def numbers_of(expr: Expr, values: Sequence[Values]) -> Numbers:
    """What an expression is, under each of many values; computed once for equal ones."""
    needed, known = scalar.variables(expr), dict[tuple[int, ...], int]()

    def number(one: Values) -> int:
        key = tuple(one[var] for var in needed)
        if key not in known:
            known[key] = scalar_text.evaluate(expr, one)
        return known[key]

    return np.fromiter(map(number, values), np.int64, len(values))


def box_of(layout: TensorLayout, access: TileAccess) -> Numbers:
    """How far the pages of a block are from its first, row by row."""
    cols, (down, across) = int_value(layout.page_grid[1]), _pages_of_tile(layout)
    assert cols is not None
    found: Numbers = (np.arange(access.rows * down)[:, None] * cols + np.arange(access.cols * across)[None, :]).ravel()
    return found


def _pages_of_tile(layout: TensorLayout) -> tuple[int, int]:
    """Downwards and sideways: a tile may be two halves."""
    height, width = layout.tile_shape
    return TILE // height, TILE // width


def at_ends_of_loops(launch: Launch, tensor: Tensor) -> list[TileAccess]:
    """What a block takes of a tensor in the first round of the loops around it, and in the last, if that differs.

    Of what it stores, or else of what it loads; the first such statement counts.
    """
    found = [place for place in dataflow.places(launch.body) if isinstance(place.stmt, Load | Store)]
    stores = [place for place in found if isinstance(place.stmt, Store) and place.stmt.dst.tensor is tensor]
    loads = [place for place in found if isinstance(place.stmt, Load) and place.stmt.src.tensor is tensor]
    if not stores and not loads:
        return []
    place = (stores or loads)[0]
    assert isinstance(place.stmt, Load | Store)
    access = place.stmt.src if isinstance(place.stmt, Load) else place.stmt.dst
    loops = {loop.var: scalar.simplify(loop.extent - 1) for loop in place.loops}
    first = _with_values(access, dict.fromkeys(loops, scalar.const(0)))
    moves = any(var in variables_of(access) for var in loops)
    return [first, _with_values(access, loops)] if moves else [first]


def _with_values(access: TileAccess, values: dict[Var, Expr]) -> TileAccess:
    batch, row, col = (
        scalar.simplify(scalar.substitute(side, values)) for side in (access.batch, access.row, access.col)
    )
    return replace(access, batch=batch, row=row, col=col)


def places_are_sizes(launch: Launch, access: TileAccess, loops: Rounds, sizes: Collection[Var]) -> bool:
    """Whether a launcher can tell the first tile of every block, in every round, from a call's sizes."""
    known = [*(var for var, _ in launch.blocks), *sizes, *(var for var, _ in loops)]
    names = {str(var.name) for var in known}
    sides = (access.batch, access.row, access.col, *(extent for _, extent in loops))
    used = {var for side in sides for var in scalar.variables(side)}
    return used <= {*known} and len(names) == len(known) and all(map(scalar_text.is_size, sides))


def rounds_that_count(access: TileAccess, loops: Rounds) -> Rounds:
    """The loops that choose which tiles a block takes, themselves or by their length."""
    needed, found = variables_of(access), list[tuple[Var, Expr]]()
    for var, extent in reversed(loops):
        if var in needed:
            needed |= set(scalar.variables(extent))
            found.insert(0, (var, extent))
    return tuple(found)


def in_whole_tiles(layout: TensorLayout) -> TensorLayout:
    """A layout of half tiles as one of whole tiles, if that is what lies in its shards; any other as it is.

    Shards of one column of 16 x 32 halves: each two of them, one after the other, are a tile.
    """
    halves, placement = layout.halves, layout.placement
    shards = None if placement is None else placement.shards()
    if halves is None or halves.sideways or placement is None or shards is None:
        return layout
    count = int_value(halves.count)
    if shards.shape[2] != 1 or shards.shape[1] % 2 or count is None or count % 2:
        return layout
    pages, shape = ((deep, high // 2, wide) for deep, high, wide in (shards.pages, shards.shape))
    placement = replace(placement, pages=tuple(map(scalar.const, pages)), shard=tuple(map(scalar.const, shape)))
    return replace(layout, halves=None, page_bytes=layout.tile_bytes, placement=placement)


def place_in_shard(layout: TensorLayout, access: TileAccess) -> Expr:
    """The place of a block's first tile in its shard, if a core has one shard at most."""
    layout = in_whole_tiles(layout)
    placement = layout.placement
    assert placement is not None
    shards = placement.shards()
    pages, shape = placement.pages, placement.shard
    if shards is not None:  # of an empty tensor there is room for one page
        pages, shape = (tuple(map(scalar.const, sides)) for sides in (shards.pages, shards.shape))
    sides = zip(tile_in_pages(layout, access), shape, pages, strict=True)
    matrix, line, column = (_inside(place, part, whole) for place, part, whole in sides)
    _, high, wide = shape
    return (matrix * high + line) * wide + column


def tile_in_pages(layout: TensorLayout, access: TileAccess) -> tuple[Expr, Expr, Expr]:
    """Matrix, row and column of a block's first tile as shards count them: matrices may lie below each other."""
    assert layout.placement is not None
    if int_value(layout.placement.pages[0]) == 1:
        return scalar.const(0), access.batch * layout.row_tiles + access.row, access.col
    return access.batch, access.row, access.col


def _inside(place: Expr, part: Expr, whole: Expr) -> Expr:
    """A place along an axis, counted from the begin of its shard."""
    size, length = int_value(part), int_value(whole)
    if size == 1:
        return scalar.const(0)
    if scalar.equal(part, whole) or (size is not None and length is not None and size >= length):
        return place
    return scalar.remainder(place, part)


def rounds_of(loops: Sequence[tuple[Var, Expr]], start: Values) -> list[Values] | None:
    """Every round of loops inside each other, for one block; None: how many there are is not known."""
    rounds = [start]
    for var, extent in loops:
        if any(not values.keys() >= set(scalar.variables(extent)) for values in rounds):
            return None
        lengths = [scalar_text.evaluate(extent, values) for values in rounds]
        if sum(lengths) > _MOST_ROUNDS:
            return None
        rounds = [{**values, var: n} for values, length in zip(rounds, lengths, strict=True) for n in range(length)]
    return rounds
