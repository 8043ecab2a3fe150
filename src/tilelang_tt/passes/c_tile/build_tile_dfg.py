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
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.places import Buffer, Tensor
from tilelang_tt.ir.tile import Edge, Launch, Load, Loop, Stmt, Store, TileProgram, children, reads, walk, writes
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
    """Nothing orders the reader and the writer of a core: what one stores, the other may have read before or after.

    Safe is the update in place of one box per unit: loaded once, stored once, from what was loaded, and no loop
    round comes back to the box.
    """
    transfers = list(_transfers(launch.body, ()))
    for store, loops in transfers:
        others = [found for found in transfers if _tensor_of(found[0]) is _tensor_of(store) and found[0] is not store]
        if not isinstance(store, Store) or not any(isinstance(other, Load) for other, _ in others):
            continue
        load, load_loops = others[0]
        once = len(others) == 1 and load_loops == loops
        if not (once and isinstance(load, Load) and _updates_in_place(launch, load, store, loops)):
            raise UnsupportedError(
                "TT129",
                f"'{store.dst.tensor.name}' is stored here and loaded elsewhere in the same kernel",
                location=store.location,
                help="loads run ahead of stores: keep the block in an on-chip buffer, or use a second kernel",
            )


def _updates_in_place(launch: Launch, load: Load, store: Store, loops: tuple[Loop, ...]) -> bool:
    old, new = ((box.batch, box.row, box.col) for box in (load.src, store.dst))
    same_box = all(scalar.equal(a, b) for a, b in zip(old, new, strict=True))
    same_size = (load.src.rows, load.src.cols) == (store.dst.rows, store.dst.cols)
    moves_on = all(any(loop.var in scalar.variables(start) for start in old) for loop in loops)
    return same_box and same_size and moves_on and store.src in _computed_from(launch, load.dst)


def _computed_from(launch: Launch, source: Buffer) -> set[Buffer]:
    """Buffers whose contents come, in part, from `source`: what waits for them has waited for it."""
    found = {source}
    while True:
        more = {b for s in walk(launch.body) if found & set(reads(s)) for b in writes(s)}
        if more <= found:
            return found
        found |= more


def _tensor_of(stmt: Stmt) -> Tensor | None:
    return stmt.src.tensor if isinstance(stmt, Load) else stmt.dst.tensor if isinstance(stmt, Store) else None


def _transfers(body: tuple[Stmt, ...], loops: tuple[Loop, ...]) -> Iterator[tuple[Stmt, tuple[Loop, ...]]]:
    for stmt in body:
        if isinstance(stmt, Load | Store):
            yield stmt, loops
        for nested in children(stmt):
            yield from _transfers(nested, (*loops, stmt) if isinstance(stmt, Loop) else loops)
