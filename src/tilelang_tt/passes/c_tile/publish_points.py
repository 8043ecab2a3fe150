"""Find where a block for the writer is complete: between the last statement that fills it and its first store."""

from __future__ import annotations

from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.fields import children, walk, with_children
from tilelang_tt.ir.tile import Publish, Stmt, Store, writes


def publish(body: tuple[Stmt, ...], buffer: Buffer) -> tuple[Stmt, ...] | None:
    """`body` with a Publish before the first store behind each filling.

    None if some store has no filling before it in its own list of statements: then no one place would do.
    """
    result: list[Stmt] = []
    complete: bool | None = None  # None: nothing filled yet in this list
    for stmt in body:
        fills, stores = _fills(stmt, buffer), _stores(stmt, buffer)
        if fills and stores:
            nested = [publish(inner, buffer) for inner in children(stmt)]
            known = tuple(inner for inner in nested if inner is not None)
            if len(known) != len(nested):
                return None
            stmt, complete = with_children(stmt, known), None
        elif stores:
            if complete is None:
                return None
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
