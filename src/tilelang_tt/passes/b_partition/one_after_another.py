"""Blocks of the grid that may change the same tiles by atomic updates: part of `partition_work`.

    before   blocks bx < 8, by < 16, bz < 4         Store c -> C tiles (by * 4, bx * 4) 4 x 4       updates C
    after    blocks bx < 8, by < 16                 Loop bz < 4 around everything

An index along which blocks surely touch different tiles stays; every other becomes a loop, in the order of the grid. So
one core does all updates of a tile, always in the same order.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.ir.boxes import Boxes
from tilelang_tt.ir.buffers import TileAccess
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.scalar import Var, int_value
from tilelang_tt.ir.tile import Launch, Load, Loop, Stmt, Store, TileProgram


def one_after_another(program: TileProgram, launch: Launch) -> Launch:
    apart = _apart(program, launch)
    body: tuple[Stmt, ...] = launch.body
    for var, extent in launch.blocks:
        if var not in apart:
            body = (Loop(var, extent, body, 0, launch.location),)
    return replace(launch, body=body, blocks=tuple((var, extent) for var, extent in launch.blocks if var in apart))


def _apart(program: TileProgram, launch: Launch) -> list[Var]:
    """Block indices that tell apart which tiles are updated; each of those before it being equal."""
    boxes = Boxes(program, launch)
    accesses: list[TileAccess] = []
    for stmt in walk(launch.body):
        box = stmt.src if isinstance(stmt, Load) else stmt.dst if isinstance(stmt, Store) else None
        if box is not None and box.tensor.param in launch.updated:
            accesses.append(box)
    pairs = [(a, b) for a in accesses for b in accesses if a.tensor.param == b.tensor.param]
    apart = [var for var, extent in launch.blocks if not pairs or int_value(extent) == 1]
    left = [var for var, _ in launch.blocks if var not in apart]
    while found := [var for var in left if all(boxes.apart(a, b, apart, var) for a, b in pairs)]:
        apart.append(found[0])
        left.remove(found[0])
    return apart
