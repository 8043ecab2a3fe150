"""C3: make the dataflow explicit: who fills and drains each buffer, and where a block is complete.

    before   Map C_out = C_local ; Store C_out -> C
    after    Map C_out = C_local ; Publish C_out ; Store C_out -> C           C_out: compute -> writer

A block that the writer drains is published right before the first statement that stores it: there the compute
kernel hands it over, and there the writer takes it.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.ir.tile import (
    Buffer,
    Edge,
    Launch,
    Publish,
    Role,
    Stmt,
    Store,
    TileProgram,
    children,
    walk,
    with_children,
    writes,
)
from tilelang_tt.passes.c_tile.separate_roles import consumers, producers


def build_tile_dfg(program: TileProgram) -> TileProgram:
    return replace(program, launches=tuple(_launch(launch) for launch in program.launches))


def _launch(launch: Launch) -> Launch:
    body = launch.body
    for buffer, stream in launch.streams.items():
        if stream.producer is Role.COMPUTE and stream.consumer is Role.WRITER:
            body = _publish(body, buffer)
    launch = replace(launch, body=body)
    graph = tuple(
        Edge(
            buffer,
            tuple(sorted(producers(launch, buffer), key=lambda role: role.value)),
            tuple(sorted(consumers(launch, buffer), key=lambda role: role.value)),
        )
        for buffer in launch.streams
    )
    return replace(launch, graph=graph)


def _publish(body: tuple[Stmt, ...], buffer: Buffer) -> tuple[Stmt, ...]:
    """`body` with a Publish between each last write and the first store that follows it."""
    result: list[Stmt] = []
    complete: bool | None = None  # None: nothing written yet in this list
    for stmt in body:
        fills, stores = _fills(stmt, buffer), _stores(stmt, buffer)
        if fills and stores:
            stmt = with_children(stmt, tuple(_publish(nested, buffer) for nested in children(stmt)))
            complete = None
        elif stores:
            if complete is None:
                raise UnsupportedError(
                    "TT126",
                    f"'{buffer.name}' is stored here but filled in another loop or branch",
                    location=stmt.location,
                    help="fill and store a block in the same loop",
                )
            if not complete:
                result.append(Publish(buffer, stmt.location))
            complete = True
        elif fills:
            complete = False
        result.append(stmt)
    return tuple(result)


def _fills(stmt: Stmt, buffer: Buffer) -> bool:
    return any(buffer in writes(inner) for inner in walk((stmt,)))


def _stores(stmt: Stmt, buffer: Buffer) -> bool:
    return any(isinstance(inner, Store) and inner.src is buffer for inner in walk((stmt,)))
