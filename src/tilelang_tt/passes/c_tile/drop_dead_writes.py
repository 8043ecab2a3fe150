"""C: remove what nothing reads.

    before   Fill C_local = 0 ; Load A -> A_s ; Gemm C_local = A_s @ B_s (overwriting)      A_s2 filled, never read
    after    Load A -> A_s ; Gemm C_local = A_s @ B_s (overwriting)

A statement is removed if its buffer never reaches a store, or if every path from it overwrites the buffer unread. A
circular buffer cannot drop a block that nobody takes, and the virtual device reports packing over unread results as
lost work.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir.dataflow import Place, changed, sources
from tilelang_tt.ir.fields import children, walk
from tilelang_tt.ir.tile import Branch, Launch, Loop, Stmt, Store, TileProgram, writes


def drop_dead_writes(program: TileProgram) -> TileProgram:
    decisions: list[Decision] = []
    launches = tuple(_swept(launch, decisions) for launch in program.launches)
    return replace(program, launches=launches).with_decisions(*decisions)


def _swept(launch: Launch, decisions: list[Decision]) -> Launch:
    needed = sources(launch.body, {stmt.src for stmt in walk(launch.body) if isinstance(stmt, Store)})

    def without(place: Place) -> tuple[Stmt, ...] | None:
        stmt = place.stmt
        target = next(iter(writes(stmt)), None)
        empty = isinstance(stmt, Loop | Branch) and not any(children(stmt))
        if not empty and (target is None or (target in needed and place.live_after(target))):
            return None
        if target is not None:
            text = "left out: nothing reads what it puts there"
            decisions.append(Decision("drop_dead_writes", target.name, text, stmt.location))
        return place.replaced()

    body = changed(launch.body, without)
    return launch if body is launch.body else _swept(replace(launch, body=body), decisions)
