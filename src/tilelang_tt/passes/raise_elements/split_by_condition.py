"""Split an axis by a condition that keeps an access inside a block: a statement for each case.

    before   Each i < 32, j < 64: y[i, j] = where(bool[j < 32], -x[i, j + 32], x[i, j - 32])
    after    Each i < 32, j < 32: y[i, j] = -x[i, j + 32]
             Each i < 32, j < 32: y[i, j + 32] = x[i, j]

A block is computed as a whole, so both values would be computed everywhere, and `x` has no tiles outside its bounds.
Conditions that cut inside a tile, and accesses that start inside one, stay: `serial_axes` takes them one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from tilelang_tt.arch import TILE
from tilelang_tt.ir import fields, scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Number
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import rewritten
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.scalar_arrays import evaluate_all
from tilelang_tt.ir.scalar_forms import orders
from tilelang_tt.ir.tile import Axis, Each, Stmt, TileProgram
from tilelang_tt.passes.raise_elements.decided import decided


def split_by_condition(program: TileProgram) -> TileProgram:
    def change(stmt: Stmt) -> Iterable[Stmt] | None:
        return _split(stmt) if isinstance(stmt, Each) else None

    launches = (replace(launch, body=rewritten(launch.body, change)) for launch in program.launches)
    return replace(program, launches=tuple(launches))


def _split(each: Each) -> tuple[Each, ...]:
    """The statements for the cases, axis by axis."""
    for axis in reversed(each.axes):
        if _leaves(each, axis) and (cases := _cases(each, axis)) is not None:
            return tuple(case for one in cases for case in _split(one))
    return (each,)


def _leaves(each: Each, axis: Axis) -> bool:
    """Whether some access walks tiles outside of its block."""
    blocks = [(access, access.source) for access in each.accesses if isinstance(access.source, Buffer)]
    for access, block in blocks:
        for index, size in zip(access.indices, block.shape, strict=True):
            start = scalar.int_value(scalar.simplify(index - axis.var))
            if start is not None and start % TILE == 0 and not 0 <= start <= size - axis.extent:
                return True
    return False


def _cases(each: Each, axis: Axis) -> list[Each] | None:
    """A statement for each run of places at which all conditions are the same; None: that would not help."""
    tests = [test for expr in fields.expressions(each) for test in orders(expr)]
    places = {axis.var: np.arange(axis.extent)}
    truths = [evaluate_all(test, places) for test in tests if scalar.variables(test) == [axis.var]]
    changes = np.zeros(axis.extent, bool)
    for truth in truths:
        changes[1:] |= truth[1:] != truth[:-1]
    starts = [0, *map(int, np.flatnonzero(changes))]
    if any(start % TILE for start in starts):
        return None
    found = []
    for start, end in pairwise([*starts, axis.extent]):
        case = _case(each, axis, start, end)
        if case is not None and _leaves(case, case.axes[each.axes.index(axis)]):
            return None
        found += [case] if case is not None else []
    return found


def _case(each: Each, axis: Axis, start: int, end: int) -> Each | None:
    """The statement for the places from `start` to `end`; None if its guard never holds there."""
    part = Axis(scalar.var(str(axis.var.name)), end - start)
    facts = Facts(blocks=[(part.var, scalar.const(part.extent))])

    def moved(expr: Expr) -> Expr:
        if axis.var not in scalar.variables(expr):
            return expr
        return facts.simplify(scalar.substitute(expr, {axis.var: part.var + start}))

    case = fields.with_expressions(replace(each, axes=()), moved)
    guard = None if case.guard is None else decided(case.guard)
    if isinstance(guard, Number):
        if not guard.value:
            return None
        guard = None
    axes = tuple(part if one is axis else one for one in each.axes)
    return replace(case, axes=axes, value=decided(case.value), guard=guard)
