"""C: let every buffer have one producer and one consumer among reader, compute and writer.

    before   Load A -> X ; Map X = X * 2 ; Store X -> B        X: reader and compute write, compute and writer read
    after    Load A -> X_in ; Map X = X_in ; Map X = X * 2 ; Map X_out = X ; Store X_out -> B

A circular buffer has one producer and one consumer. The extra blocks usually disappear again in `fuse_maps`.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.ir.tile import (
    Buffer,
    BufferLayout,
    Element,
    Gemm,
    Launch,
    Load,
    Loop,
    Map,
    Memory,
    Role,
    Stmt,
    Store,
    TileProgram,
    children,
    reads,
    unique_name,
    unpacks,
    walk,
    with_children,
    writes,
)
from tilelang_tt.passes.c_tile.liveness import Path, live_after


def separate_roles(program: TileProgram) -> TileProgram:
    return replace(program, launches=tuple(_launch(launch) for launch in program.launches))


def producers(launch: Launch, buffer: Buffer) -> set[Role]:
    return {
        Role.READER if isinstance(stmt, Load) else Role.COMPUTE for stmt in walk(launch.body) if buffer in writes(stmt)
    }


def consumers(launch: Launch, buffer: Buffer) -> set[Role]:
    return {
        Role.WRITER if isinstance(stmt, Store) else Role.COMPUTE
        for stmt in walk(launch.body)
        if buffer in unpacks(stmt)
    }


def _launch(launch: Launch) -> Launch:
    mixed_in = [b for b in launch.buffers if len(producers(launch, b)) > 1]
    kept = _kept_after_store(launch.body, (), False)
    mixed_out = [b for b in launch.buffers if len(consumers(launch, b)) > 1 or b in kept]
    if not mixed_in and not mixed_out:
        return launch
    layouts = dict(launch.layouts)

    def twin(buffer: Buffer, suffix: str) -> Buffer:
        name = unique_name(buffer.name + suffix, launch.names | {b.name for b in layouts})
        block = Buffer(name, buffer.dtype, buffer.shape, Memory.SHARED, buffer.location)
        layouts[block] = layouts[buffer]
        return block

    arriving = {buffer: twin(buffer, "_in") for buffer in mixed_in}
    leaving = {buffer: twin(buffer, "_out") for buffer in mixed_out}

    def rewrite(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Load) and stmt.dst in arriving:
                block = arriving[stmt.dst]
                result += [replace(stmt, dst=block), Map(stmt.dst, Element(block), stmt.location)]
            elif isinstance(stmt, Store) and stmt.src in leaving:
                block = leaving[stmt.src]
                result += [Map(block, Element(stmt.src), stmt.location), replace(stmt, src=block)]
            else:
                result.append(with_children(stmt, tuple(rewrite(nested) for nested in children(stmt))))
        return tuple(result)

    return used_only(replace(launch, body=rewrite(launch.body)), layouts)


def _kept_after_store(body: tuple[Stmt, ...], outer: Path, is_loop: bool) -> set[Buffer]:
    """Accumulators that are stored and then added to: the block handed over is not the one to go on with."""
    found: set[Buffer] = set()
    for index, stmt in enumerate(body):
        path = (*outer, (body, index, is_loop))
        if isinstance(stmt, Store) and live_after(path, stmt.src, _added_to):
            found.add(stmt.src)
        for nested in children(stmt):
            found |= _kept_after_store(nested, path, isinstance(stmt, Loop))
    return found


def _added_to(stmt: Stmt) -> tuple[Buffer, ...]:
    return (stmt.c,) if isinstance(stmt, Gemm) and stmt.c in reads(stmt) else ()


def used_only(launch: Launch, layouts: dict[Buffer, BufferLayout]) -> Launch:
    """The launch with just the buffers its body mentions."""
    used = {b for stmt in walk(launch.body) for b in (*unpacks(stmt), *writes(stmt))}
    kept = {buffer: layout for buffer, layout in layouts.items() if buffer in used}
    return replace(launch, buffers=tuple(kept), layouts=kept)
