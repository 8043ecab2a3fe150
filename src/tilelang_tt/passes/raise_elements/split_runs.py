"""Split an axis along which an index stays where it is for a while: a scale for every group of columns.

    before   Each i < 32, j < 128: y[i, j] = x[i, j] * s[i, j // 64]
    after    Each i < 32, j < 64: y[i, j] = x[i, j] * s[i, 0]
             Each i < 32, j < 64: y[i, j + 64] = x[i, j + 64] * s[i, 1]

    before   Each i < 32, j < 32: y[i, j] = x[i, j] * s[i, j // 16]
    after    Each i < 32, j < 32: y[i, j] = x[i, j] * where(bool[j < 16], s[i, 0], s[i, 1])

Otherwise every column would be computed by itself (`serial_axes`). A tile has at most four such places.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from math import prod

import numpy as np

from tilelang_tt.arch import TILE
from tilelang_tt.ir import fields, scalar
from tilelang_tt.ir.elements import Access, ElementExpr, Scalar, with_parts
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import rewritten, walk
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.scalar_arrays import evaluate_all
from tilelang_tt.ir.tile import Axis, Each, Stmt, TileProgram
from tilelang_tt.ops.expressions import apply
from tilelang_tt.passes.raise_elements.serial_axes import serial_axes, without_single

_MOST_PLACES = 4  # in a tile
_MOST_PARTS = 32


def split_runs(program: TileProgram) -> TileProgram:
    statements = [stmt for launch in program.launches for stmt in walk(launch.body)]
    found = {id(stmt): _split(stmt) for stmt in statements if isinstance(stmt, Each)}
    if all(len(parts) == 1 and parts[0] is stmt for stmt in statements if (parts := found.get(id(stmt)))):
        return program

    def change(stmt: Stmt) -> Iterable[Stmt] | None:
        return found.get(id(stmt))

    launches = (replace(launch, body=rewritten(launch.body, change)) for launch in program.launches)
    return replace(program, launches=tuple(launches))


def rounds(each: Each) -> int:
    """How often tiles are gone through, one place after the other."""
    return prod(axis.extent for axis in serial_axes(without_single(each)))


def _split(each: Each) -> tuple[Each, ...]:
    """The statements for the tiles along an axis, each with a choice between the places in it."""
    if any(access.source is each.target.source and not _same(access, each.target) for access in each.accesses):
        return (each,)  # parts would read what others have stored
    for axis in serial_axes(each):
        indices = [index for access in each.accesses[1:] for index in access.indices if _stays(index, axis, each)]
        bounds = _bounds(indices, axis)
        if len(bounds) > _MOST_PARTS or any(axis.var in scalar.variables(read.index) for read in each.reads):
            continue
        parts = [_part(each, axis, start, end) for start, end in pairwise([*bounds, axis.extent])]
        found = [_chosen(part, inner) for part, inner in parts]
        if sum(map(rounds, found)) < rounds(each):
            return tuple(one for part in found for one in _split(part))
    return (each,)


def _same(access: Access, target: Access) -> bool:
    return all(map(scalar.same_form, access.indices, target.indices))


def _stays(index: Expr, axis: Axis, each: Each) -> bool:
    """Whether an index depends on one axis, other than place by place."""
    used = [var for var in each.extents if var in scalar.variables(index)]
    return used == [axis.var] and scalar.linear(index, used) is None


def _bounds(indices: list[Expr], axis: Axis) -> list[int]:
    """Where parts of an axis begin: at tiles, those without a change of an index together."""
    changes = {place for index in indices for place in _changes(index, axis)}
    tiles = range(TILE, axis.extent, TILE)
    return [0, *(tile for tile in tiles if any(tile - TILE < place < tile + TILE for place in changes))]


def _changes(index: Expr, axis: Axis) -> list[int]:
    """Where an index changes along an axis, as far as other variables do not matter."""
    others = dict.fromkeys(scalar.variables(index), 0)
    found = np.broadcast_to(evaluate_all(index, {**others, axis.var: np.arange(axis.extent)}), (axis.extent,))
    return [int(place) for place in np.flatnonzero(found[1:] != found[:-1]) + 1]


def _part(each: Each, axis: Axis, start: int, end: int) -> tuple[Each, Axis]:
    """The statement for the places from `start` to `end` of an axis."""
    inner = Axis(scalar.var(str(axis.var.name)), end - start)
    facts = Facts(blocks=[(inner.var, scalar.const(inner.extent))])

    def moved(expr: Expr) -> Expr:
        if axis.var not in scalar.variables(expr):
            return expr
        return facts.simplify(scalar.substitute(expr, {axis.var: inner.var + start}))

    part = fields.with_expressions(replace(each, axes=()), moved)
    return replace(part, axes=tuple(inner if one is axis else one for one in each.axes)), inner


def _chosen(each: Each, axis: Axis) -> Each:
    """Elements at a few places along an axis, as a choice between these."""

    def change(part: ElementExpr) -> ElementExpr | None:
        if not isinstance(part, Access):
            return None
        starts = [_starts(index, axis) for index in part.indices if _stays(index, axis, each)]
        if len(starts) != 1 or starts[0] is None:
            return None
        places = [_at(part, axis.var, start) for start in starts[0]]
        result: ElementExpr = places[-1]
        for place, end in zip(reversed(places[:-1]), reversed(starts[0][1:]), strict=True):
            result = apply("where", Scalar(axis.var < end, "bool"), place, result)
        return result

    guard = None if each.guard is None else with_parts(each.guard, change)
    return replace(each, value=with_parts(each.value, change), guard=guard)


def _at(access: Access, var: Var, place: int) -> Access:
    values = {var: scalar.const(place)}
    return replace(access, indices=tuple(scalar.simplify(scalar.substitute(i, values)) for i in access.indices))


def _starts(index: Expr, axis: Axis) -> list[int] | None:
    """Where an index begins to be another one along an axis; None: too often, or that is not known."""
    starts = [0, *_changes(index, axis)]
    if len(starts) > _MOST_PLACES:
        return None
    for start, end in zip(starts, [*starts[1:], axis.extent], strict=True):
        step = scalar.var("step")
        facts = Facts(blocks=[(step, scalar.const(end - start))])
        here = scalar.substitute(index, {axis.var: step + start})
        if step in scalar.variables(facts.simplify(here)):
            return None
    return starts
