"""C3: make the dataflow explicit: who fills and drains each buffer, and where a block is complete.

    before   Map C_out = C_local ; Store C_out -> C
    after    Map C_out = C_local ; Publish C_out ; Store C_out -> C           C_out: compute -> writer

A block that the writer drains is published right before the first statement that stores it: there the compute
kernel hands it over, and there the writer takes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.ir import scalar
from tilelang_tt.ir.tile import (
    Edge,
    Launch,
    Load,
    Loop,
    Role,
    Stmt,
    Store,
    Tensor,
    TileProgram,
    children,
)
from tilelang_tt.passes.c_tile.publish import publish
from tilelang_tt.passes.c_tile.separate_roles import consumers, producers


def build_tile_dfg(program: TileProgram) -> TileProgram:
    return replace(program, launches=tuple(_launch(launch) for launch in program.launches))


def _launch(launch: Launch) -> Launch:
    _check_reread_tensors(launch)
    body = launch.body
    for buffer, stream in launch.streams.items():
        if stream.producer is Role.COMPUTE and stream.consumer is Role.WRITER:
            published = publish(body, buffer)
            assert published is not None  # separate_roles saw to it
            body = published
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


def _check_reread_tensors(launch: Launch) -> None:
    """The reader runs ahead of the writer: what one stores, the other may have read already.

    Safe is the update in place of one box per unit: loaded once, stored once behind it in the same list of
    statements, and no loop round comes back to the box.
    """
    transfers = list(_transfers(launch.body, ()))
    order = [id(stmt) for stmt, _ in transfers]
    loads = [found for found in transfers if isinstance(found[0], Load)]
    stores = [found for found in transfers if isinstance(found[0], Store)]
    for load, load_loops in loads:
        for store, store_loops in stores:
            assert isinstance(load, Load)
            assert isinstance(store, Store)
            if load.src.tensor is not store.dst.tensor:
                continue
            once = len([s for s, _ in (*loads, *stores) if _tensor_of(s) is load.src.tensor]) == 2
            starts = [e for box in (load.src, store.dst) for e in (box.batch, box.row, box.col)]
            moves_on = all(any(loop.var in scalar.variables(e) for e in starts[:3]) for loop in load_loops)
            same_box = all(scalar.equal(a, b) for a, b in zip(starts[:3], starts[3:], strict=True))
            same_size = (load.src.rows, load.src.cols) == (store.dst.rows, store.dst.cols)
            behind = load_loops == store_loops and order.index(id(load)) < order.index(id(store))
            if not (once and same_box and same_size and moves_on and behind):
                raise UnsupportedError(
                    "TT129",
                    f"'{store.dst.tensor.name}' is stored here and loaded elsewhere in the same kernel",
                    location=store.location,
                    help="loads run ahead of stores: keep the block in an on-chip buffer, or use a second kernel",
                )


def _tensor_of(stmt: Stmt) -> Tensor | None:
    return stmt.src.tensor if isinstance(stmt, Load) else stmt.dst.tensor if isinstance(stmt, Store) else None


def _transfers(body: tuple[Stmt, ...], loops: tuple[Loop, ...]) -> Iterator[tuple[Stmt, tuple[Loop, ...]]]:
    for stmt in body:
        if isinstance(stmt, Load | Store):
            yield stmt, loops
        for nested in children(stmt):
            yield from _transfers(nested, (*loops, stmt) if isinstance(stmt, Loop) else loops)
