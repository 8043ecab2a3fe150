"""C: give every buffer one producer and one consumer among reader, compute and writer.

    before   Load A -> X ; Map X = X * 2 ; Store X -> B        X: reader and compute write, compute and writer read
    after    Load A -> X_in ; Map X = X_in ; Map X = X * 2 ; Map X_out = X ; Store X_out -> B

A circular buffer has one producer and one consumer. The extra blocks usually disappear again in `fuse_maps`.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.ir.buffers import Buffer, Memory
from tilelang_tt.ir.elements import Element
from tilelang_tt.ir.layout import BufferLayout, Role
from tilelang_tt.ir.tile import (
    Branch,
    Gemm,
    Launch,
    Load,
    Loop,
    Map,
    Stmt,
    Store,
    TileProgram,
    children,
    reads,
    rewritten,
    unique_name,
    unpacks,
    walk,
    writes,
)
from tilelang_tt.passes.c_tile.liveness import Path, live_after
from tilelang_tt.passes.c_tile.publish_points import publish


def separate_roles(program: TileProgram) -> TileProgram:
    return replace(program, launches=tuple(map(separated, program.launches)))


def producers(launch: Launch, buffer: Buffer) -> set[Role]:
    if buffer in launch.constants:
        return {Role.READER}
    return {
        Role.READER if isinstance(stmt, Load) else Role.COMPUTE for stmt in walk(launch.body) if buffer in writes(stmt)
    }


def consumers(launch: Launch, buffer: Buffer) -> set[Role]:
    return {
        Role.WRITER if isinstance(stmt, Store) else Role.COMPUTE
        for stmt in walk(launch.body)
        if buffer in unpacks(stmt)
    }


def separated(launch: Launch) -> Launch:
    launch, _ = staged(launch, "_in", [b for b in launch.buffers if _arrives_mixed(launch, b)])
    kept = _kept_after_store(launch.body, (), False)
    launch, _ = staged(launch, "_out", [b for b in launch.buffers if b in kept or _leaves_mixed(launch, b)])
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
    return _overwritten_unseen(launch.body, buffer, (), False)


def handed_over(launch: Launch, buffer: Buffer) -> bool:
    """Whether every block of `buffer` that the writer is to have is complete in one place, and is taken once."""
    if Role.WRITER not in consumers(launch, buffer):
        return True
    return not _leaves_mixed(launch, buffer) and buffer not in _kept_after_store(launch.body, (), False)


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
    loads: list[Path] = []
    uses: list[Path] = []

    def collect(body: tuple[Stmt, ...], outer: Path) -> None:
        for index, stmt in enumerate(body):
            path = (*outer, (body, index, isinstance(stmt, Loop)))
            if isinstance(stmt, Load) and stmt.dst is buffer:
                loads.append(path)
            elif buffer in unpacks(stmt):
                uses.append(path)
            for nested in children(stmt):
                collect(nested, path)

    collect(launch.body, ())
    lists = {id(path[-1][0]): path for path in loads}
    nested = any(id(step[0]) in lists for path in lists.values() for step in path[:-1])
    return bool(loads) and (nested or any(not _behind_one_load(use, loads, set(lists)) for use in uses))


def _behind_one_load(use: Path, loads: list[Path], lists: set[int]) -> bool:
    around = [(body, index) for body, index, _ in use if id(body) in lists]
    if len(around) != 1:
        return False
    body, index = around[0]
    return any(load[-1][0] is body and load[-1][1] < index for load in loads)


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


def _overwritten_unseen(body: tuple[Stmt, ...], buffer: Buffer, outer: Path, is_loop: bool) -> bool:
    """Whether a block may be filled again before anything stores it: nobody takes what it held."""
    for index, stmt in enumerate(body):
        path = (*outer, (body, index, is_loop))
        if _fills(stmt, buffer) and _next_event(path, buffer) == "fill":
            return True
        for nested in children(stmt):
            if _overwritten_unseen(nested, buffer, path, isinstance(stmt, Loop)):
                return True
    return False


def _fills(stmt: Stmt, buffer: Buffer) -> bool:
    return not isinstance(stmt, Loop | Branch) and buffer in writes(stmt) and buffer not in reads(stmt)


def _next_event(path: Path, buffer: Buffer) -> str | None:
    for body, index, is_loop in reversed(path):
        event = _first_event(body[index + 1 :], buffer)
        if event is None and is_loop:
            event = _first_event(body[: index + 1], buffer)
        if event is not None:
            return event
    return None


def _first_event(body: tuple[Stmt, ...], buffer: Buffer) -> str | None:
    """ "fill" or "store": what may happen to a block first; the worse of the two where branches differ."""
    for stmt in body:
        if _fills(stmt, buffer):
            return "fill"
        if isinstance(stmt, Store) and stmt.src is buffer:
            return "store"
        events = [_first_event(nested, buffer) for nested in children(stmt)]
        found = [event for event in events if event is not None]
        if found:
            return min(found)
    return None


def _added_to(stmt: Stmt) -> tuple[Buffer, ...]:
    return (stmt.c,) if isinstance(stmt, Gemm) and stmt.c in reads(stmt) else ()


def used_only(launch: Launch, layouts: dict[Buffer, BufferLayout]) -> Launch:
    """The launch with just the buffers its body mentions."""
    used = {b for stmt in walk(launch.body) for b in (*unpacks(stmt), *writes(stmt))}
    kept = {buffer: layout for buffer, layout in layouts.items() if buffer in used}
    constants = {buffer: constant for buffer, constant in launch.constants.items() if buffer in used}
    return replace(launch, buffers=tuple(kept), layouts=kept, constants=constants)
