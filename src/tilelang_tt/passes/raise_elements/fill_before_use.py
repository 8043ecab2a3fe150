"""Fill with zeros a block that a loop reads in its first round before filling it.

    before   loop i { Copy H -> h[i] ; ... ; Copy s -> H }
    after    Fill H = 0 ; loop i { Copy H -> h[i] ; ... ; Copy s -> H }

On a GPU the first round sees what an earlier kernel left in shared memory; a circular buffer has nothing to hand out
then. Zeros are what such kernels count on (the state of a recurrence before its first step), and the warning TT701 says
so. Every other block that some path uses before it is filled is refused (`check_definite_assignment`).
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import Location, warn
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.dataflow import places
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.tile import Fill, Loop, Stmt, TileProgram, reads, writes
from tilelang_tt.passes.raise_elements.check_definite_assignment import check_definite_assignment


def fill_before_use(program: TileProgram) -> TileProgram:
    decisions: list[Decision] = []
    launches = []
    for launch in program.launches:
        found = _read_too_early(launch.body)
        for buffer, location in found.items():
            fact = f"a loop reads '{buffer.name}' in its first round and fills it only afterwards; it starts as zeros"
            warn("TT701", fact, location=location, help="T.clear it before the loop to say so")
            decisions.append(Decision("fill_before_use", buffer.name, "TT701: starts as zeros", location))
        body = (*(Fill(buffer, 0.0) for buffer in found), *launch.body)
        check_definite_assignment(body)
        launches.append(replace(launch, body=body))
    return replace(program, launches=tuple(launches)).with_decisions(*decisions)


def _read_too_early(body: tuple[Stmt, ...]) -> dict[Buffer, Location | None]:
    """Blocks whose first mention is a read inside a loop that also overwrites them, and where that read is."""
    found: dict[Buffer, Location | None] = {}
    mentioned: set[Buffer] = set()
    for place in places(body):
        stmt = place.stmt
        for buffer in reads(stmt):
            early = buffer not in mentioned and buffer not in writes(stmt)
            if early and any(_overwrites(loop, buffer) for loop in place.loops):
                found[buffer] = stmt.location
        mentioned.update(reads(stmt), writes(stmt))
    return found


def _overwrites(loop: Loop, buffer: Buffer) -> bool:
    return any(buffer in writes(stmt) and buffer not in reads(stmt) for stmt in walk(loop.body))
