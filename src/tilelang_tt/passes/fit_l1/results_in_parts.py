"""Store long results part by part, while the rest of them is computed: part of `fit_l1`.

    before   Map y = x * s[i] ; Store y -> Y                                     y : 1 x 128 tiles, twice
    after    loop c { Map y = x[i, 512 c + j] * s[i] ; Store y -> Y, part c }    y : 1 x 16 tiles, twice

A core that has one unit alone could not store its result while it computes the next one. Where it has more of them,
this is done if L1 has no room for a second block of something that is loaded: then the next one is loaded meanwhile.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.room import Room, room
from tilelang_tt.ir.tile import Launch, Store, TileProgram
from tilelang_tt.ir.units import known_extents
from tilelang_tt.passes.c_tile.separate_roles import separated
from tilelang_tt.passes.fit_l1.block_parts import Side
from tilelang_tt.passes.fit_l1.split_blocks import split_blocks

_LONG = 32  # tiles of a result that is worth it
_PART = 16  # tiles of a part


def results_in_parts(program: TileProgram, settled: TileProgram) -> TileProgram:
    """The program with results in parts where that saves time; `settled`: what later passes make of it as written."""
    launches: list[Launch] = []
    decisions: list[Decision] = []
    for launch, after in zip(program.launches, settled.launches, strict=True):
        need = room(settled, after)
        if need.fits(program.options.chip) and (_one_unit(launch) or _loads_one_at_a_time(after, need)):
            launch, found = _in_parts(program, launch)
            decisions += found
        launches.append(launch)
    return replace(program, launches=tuple(launches)).with_decisions(*decisions) if decisions else program


def _in_parts(program: TileProgram, launch: Launch) -> tuple[Launch, list[Decision]]:
    placed = any(layout.placement is not None for layout in program.layouts.values())
    stored = {stmt.src for stmt in walk(launch.body) if isinstance(stmt, Store)}
    if placed or not any(launch.layouts[block].tiles >= _LONG for block in stored):
        return launch, []
    launch = separated(launch)
    wide = max(launch.layouts[block].cols for block in stored)
    by_rows, rows = split_blocks(program, launch, Side.ROWS, max(1, _PART // wide), results_only=True)
    if rows:
        return by_rows, rows
    high = max(launch.layouts[block].rows for block in stored)
    return split_blocks(program, launch, Side.COLUMNS, max(1, _PART // high), results_only=True)


def _one_unit(launch: Launch) -> bool:
    """Whether no core has two blocks of the grid, one after the other."""
    extents = known_extents(launch)
    return launch.work is not None and extents is not None and math.prod(extents) <= launch.work.cores


def _loads_one_at_a_time(launch: Launch, need: Room) -> bool:
    """Whether there is room for one block only of what is loaded, where two would be better."""
    loaded = {buffer: stream for buffer, stream in launch.streams.items() if stream.producer is Role.READER}
    return any(need.depths.get(buffer, 1) < stream.depth for buffer, stream in loaded.items())
