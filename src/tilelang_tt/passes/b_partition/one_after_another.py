"""Blocks of the grid that may change the same tiles by atomic updates: part of `partition_work`.

    before   blocks bx < 8, by < 16, bz < 4         Store c -> C tiles (by * 4, bx * 4) 4 x 4       updates C
    after    blocks bx < 8, by < 16                 Loop bz < 4 around everything

An index along which blocks surely touch different tiles stays; every other becomes a loop, in the order of the grid. So
one core does all updates of a tile, always in the same order. An index whose quotient tells tiles apart (`bx // 4`, the
key of a group of heads) is two: the quotient, which stays, and the remainder, which becomes a loop.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.ir import scalar
from tilelang_tt.ir.boxes import Boxes
from tilelang_tt.ir.buffers import TileAccess
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import walk, with_expressions
from tilelang_tt.ir.scalar import Expr, Var, int_value
from tilelang_tt.ir.scalar_forms import divisions
from tilelang_tt.ir.tile import Launch, Load, Loop, Stmt, Store, TileProgram


def one_after_another(program: TileProgram, launch: Launch) -> Launch:
    for var, extent in launch.blocks if launch.updated else ():
        launch = _in_two(launch, var, int_value(extent))
    apart = _apart(program, launch)
    body: tuple[Stmt, ...] = launch.body
    for var, extent in launch.blocks:
        if var not in apart:
            body = (Loop(var, extent, body, 0, launch.location),)
    return replace(launch, body=body, blocks=tuple((var, extent) for var, extent in launch.blocks if var in apart))


def _in_two(launch: Launch, var: Var, extent: int | None) -> Launch:
    """The launch with two block indices for one of which updated places have a quotient."""
    places = (place for box in _updated(launch) for place in (box.batch, box.row, box.col))
    divisors = {by for place in places for _, what, by in divisions(place) if scalar.same_form(what, var)}
    if extent is None or len(divisors) != 1 or extent % (divisor := divisors.pop()):
        return launch
    quotient, remainder = scalar.var(f"{var.name}_group"), scalar.var(f"{var.name}_member")
    pair = ((remainder, scalar.const(divisor)), (quotient, scalar.const(extent // divisor)))
    facts, value = Facts(blocks=pair), {var: quotient * divisor + remainder}
    body = with_expressions(launch.body, lambda expr: _simplified(expr, value, facts))
    blocks = tuple(new for block in launch.blocks for new in (pair if block[0] is var else (block,)))
    return replace(launch, body=body, blocks=blocks)


def _simplified(expr: Expr, value: dict[Var, Expr], facts: Facts) -> Expr:
    changed = scalar.substitute(expr, value)
    return expr if changed is expr else facts.simplify(changed)


def _updated(launch: Launch) -> list[TileAccess]:
    """The boxes of tensors with atomic updates."""
    boxes = (
        stmt.src if isinstance(stmt, Load) else stmt.dst for stmt in walk(launch.body) if isinstance(stmt, Load | Store)
    )
    return [box for box in boxes if box.tensor.param in launch.updated]


def _apart(program: TileProgram, launch: Launch) -> list[Var]:
    """Block indices that tell apart which tiles are updated; each of those before it being equal."""
    boxes, accesses = Boxes(program, launch), _updated(launch)
    pairs = [(a, b) for a in accesses for b in accesses if a.tensor.param == b.tensor.param]
    apart = [var for var, extent in launch.blocks if not pairs or int_value(extent) == 1]
    left = [var for var, _ in launch.blocks if var not in apart]
    while found := [var for var in left if all(boxes.apart(a, b, apart, var) for a, b in pairs)]:
        apart.append(found[0])
        left.remove(found[0])
    return apart
