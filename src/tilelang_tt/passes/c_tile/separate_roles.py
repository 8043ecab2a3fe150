"""C: give every buffer one producer and one consumer among reader, compute and writer.

    before   Load A -> X ; Map X = X * 2 ; Store X -> B        X: reader and compute write, compute and writer read
    after    Load A -> X_in ; Map X = X_in ; Map X = X * 2 ; Map X_out = X ; Store X_out -> B

A circular buffer has one producer and one consumer. The extra blocks usually disappear again in `form_sections`.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.ir.buffers import Buffer, Memory, unique_name
from tilelang_tt.ir.dataflow import Place, users
from tilelang_tt.ir.elements import Element
from tilelang_tt.ir.fields import rewritten, walk
from tilelang_tt.ir.layout import BufferLayout, Role
from tilelang_tt.ir.tile import Gemm, Launch, Load, Map, Section, Stmt, Store, TileProgram, reads, unpacks, writes
from tilelang_tt.passes.c_tile.publish_points import publish


def separate_roles(program: TileProgram) -> TileProgram:
    return replace(program, launches=tuple(map(separated, program.launches)))


def producers(launch: Launch, buffer: Buffer) -> set[Role]:
    if buffer in launch.constants:
        return {Role.READER}
    stmts = [place.stmt for place in users(launch.body, buffer)]
    return {Role.READER if isinstance(stmt, Load) else Role.COMPUTE for stmt in stmts if buffer in writes(stmt)}


def consumers(launch: Launch, buffer: Buffer) -> set[Role]:
    stmts = [place.stmt for place in users(launch.body, buffer)]
    return {Role.WRITER if isinstance(stmt, Store) else Role.COMPUTE for stmt in stmts if buffer in unpacks(stmt)}


def separated(launch: Launch) -> Launch:
    launch, _ = staged(launch, "_in", [b for b in launch.buffers if _arrives_mixed(launch, b)])
    launch, _ = staged(launch, "_out", [b for b in launch.buffers if _leaves_mixed(launch, b)])
    return launch


def _arrives_mixed(launch: Launch, buffer: Buffer) -> bool:
    return len(producers(launch, buffer)) > 1 or _outlives_its_load(launch, buffer)


def _leaves_mixed(launch: Launch, buffer: Buffer) -> bool:
    if Role.WRITER not in consumers(launch, buffer) or producers(launch, buffer) != {Role.COMPUTE}:
        return len(consumers(launch, buffer)) > 1
    if len(consumers(launch, buffer)) > 1 or publish(launch.body, buffer) is None:
        return True
    parts = [stmt.part for stmt in walk(launch.body) if isinstance(stmt, Map) and stmt.dst is buffer]
    if any(part is not None and part.begins is None for part in parts):
        return True  # what lies around the part stays: compute takes the block back before it goes on
    return _overwritten_unseen(launch, buffer) or _kept_after_store(launch, buffer)


def handed_over(launch: Launch, buffer: Buffer) -> bool:
    """Whether every block of `buffer` that the writer is to have is complete in one place, and is taken once."""
    return Role.WRITER not in consumers(launch, buffer) or not _leaves_mixed(launch, buffer)


def staged(launch: Launch, suffix: str, buffers: list[Buffer]) -> tuple[Launch, dict[Buffer, Buffer]]:
    """The launch with loads (`_in`) or stores (`_out`) of `buffers` through blocks of their own, and those blocks."""
    layouts = dict(launch.layouts)
    stages: dict[Buffer, Buffer] = {}
    for buffer in buffers:
        name = unique_name(buffer.name + suffix, launch.names | {b.name for b in layouts})
        stages[buffer] = Buffer(name, buffer.dtype, buffer.shape, Memory.SHARED, buffer.location)
        layouts[stages[buffer]] = layouts[buffer]

    def through(stmt: Stmt) -> tuple[Stmt, ...] | None:
        if suffix == "_in" and isinstance(stmt, Load) and stmt.dst in stages:
            block = stages[stmt.dst]
            return replace(stmt, dst=block), Map(stmt.dst, Element(block), stmt.location)
        if suffix == "_out" and isinstance(stmt, Store) and stmt.src in stages:
            block = stages[stmt.src]
            return Map(block, Element(stmt.src), stmt.location), replace(stmt, src=block)
        return None

    if not stages:
        return launch, {}
    return used_only(replace(launch, body=rewritten(launch.body, through)), layouts), stages


def _outlives_its_load(launch: Launch, buffer: Buffer) -> bool:
    """Whether a loaded block is read anywhere but behind its load, in the same loop round or branch.

    The reader hands blocks over where it loads them, and compute gives them back in the same list of statements; a
    block that must live longer is copied to one of compute's own.
    """
    found = list(users(launch.body, buffer))
    loads = [place for place in found if isinstance(place.stmt, Load)]
    lists = {id(load.body) for load in loads}
    nested = any(id(step.body) in lists for load in loads for step in load.around[1:])
    uses = [place for place in found if buffer in unpacks(place.stmt)]
    return bool(loads) and (nested or any(not _behind_one_load(use, loads, lists) for use in uses))


def _behind_one_load(use: Place, loads: list[Place], lists: set[int]) -> bool:
    around = [step for step in use.around if id(step.body) in lists]
    if len(around) != 1:
        return False
    return any(load.body is around[0].body and load.index < around[0].index for load in loads)


def _kept_after_store(launch: Launch, buffer: Buffer) -> bool:
    """Whether an accumulator is stored and then added to: the block handed over is not the one to go on with."""

    def adds(stmt: Stmt) -> bool:
        return isinstance(stmt, Gemm) and stmt.c is buffer and buffer in reads(stmt)

    stores = [place for place in users(launch.body, buffer) if isinstance(place.stmt, Store)]
    return any(place.reaches(buffer, adds, lambda stmt: buffer in writes(stmt)) for place in stores)


def _overwritten_unseen(launch: Launch, buffer: Buffer) -> bool:
    """Whether a block may be filled again before anything stores it: nobody takes what it held."""

    def fills(stmt: Stmt) -> bool:
        return buffer in writes(stmt) and buffer not in reads(stmt)

    def stores(stmt: Stmt) -> bool:
        return isinstance(stmt, Store) and stmt.src is buffer

    return any(place.reaches(buffer, fills, stores) for place in users(launch.body, buffer) if fills(place.stmt))


def used_only(launch: Launch, layouts: dict[Buffer, BufferLayout]) -> Launch:
    """The launch with only the buffers that its body mentions, without those held in DST."""
    used = {b for stmt in walk(launch.body) for b in (*unpacks(stmt), *writes(stmt))}
    held = {stmt.held for stmt in walk(launch.body) if isinstance(stmt, Section)}
    kept = {buffer: layout for buffer, layout in layouts.items() if buffer in used}
    constants = {buffer: constant for buffer, constant in launch.constants.items() if buffer in used}
    return replace(launch, buffers=tuple(b for b in kept if b not in held), layouts=kept, constants=constants)
