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
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.tile import (
    Branch,
    Launch,
    Loop,
    Stmt,
    Store,
    TileProgram,
    children,
    reads,
    walk,
    with_children,
    writes,
)
from tilelang_tt.passes.c_tile.liveness import Path, live_after


def drop_dead_writes(program: TileProgram) -> TileProgram:
    decisions: list[Decision] = []
    launches = []
    for launch in program.launches:
        while True:
            before = sum(1 for _ in walk(launch.body))
            launch = replace(launch, body=_sweep(launch, _needed(launch), decisions))
            if sum(1 for _ in walk(launch.body)) == before:
                break
        launches.append(launch)
    return replace(program, launches=tuple(launches)).with_decisions(*decisions)


def _needed(launch: Launch) -> set[Buffer]:
    """Buffers that reach a store, through whatever is computed from them."""
    needed = {stmt.src for stmt in walk(launch.body) if isinstance(stmt, Store)}
    while True:
        feeding = {b for s in walk(launch.body) if needed & set(writes(s)) for b in reads(s)}
        if feeding <= needed:
            return needed
        needed |= feeding


def _sweep(launch: Launch, needed: set[Buffer], decisions: list[Decision]) -> tuple[Stmt, ...]:
    def sweep(body: tuple[Stmt, ...], outer: Path, is_loop: bool) -> tuple[Stmt, ...]:
        kept: list[Stmt] = []
        for index, stmt in enumerate(body):
            path = (*outer, (body, index, is_loop))
            nested = tuple(sweep(inner, path, isinstance(stmt, Loop)) for inner in children(stmt))
            if isinstance(stmt, Loop | Branch) and not any(nested):
                continue
            target = next(iter(writes(stmt)), None)
            if target is not None and (target not in needed or not live_after(path, target)):
                text = "left out: nothing reads what it puts there"
                decisions.append(Decision("drop_dead_writes", target.name, text, stmt.location))
                continue
            kept.append(with_children(stmt, nested))
        return tuple(kept)

    return sweep(launch.body, (), False)
