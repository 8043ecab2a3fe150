"""C: start a product, in DST, from the mask it is added to.

    before   Branch bx <= n : Map S = mask[tile ...] ;; Gemm S += Q @ K, overwriting where n < bx
    after    Gemm S = mask[tile ...] where bx <= n, + Q @ K

The matrix engine adds to what DST holds, so the mask costs its copy alone: no section of its own, no pack.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Read
from tilelang_tt.ir.elements import Element
from tilelang_tt.ir.layout import TileOrder
from tilelang_tt.ir.tile import (
    Branch,
    Gemm,
    Launch,
    Map,
    Set,
    Start,
    Stmt,
    TileProgram,
    children,
    mentioned,
    walk,
    with_children,
)


def preload(program: TileProgram) -> TileProgram:
    decisions: list[Decision] = []
    launches = tuple(replace(launch, body=_body(launch.body, launch, decisions)) for launch in program.launches)
    return replace(program, launches=launches).with_decisions(*decisions)


def _body(body: tuple[Stmt, ...], launch: Launch, decisions: list[Decision]) -> tuple[Stmt, ...]:
    stmts = [with_children(stmt, tuple(_body(nested, launch, decisions) for nested in children(stmt))) for stmt in body]
    kept: list[Stmt] = []
    for index, stmt in enumerate(stmts):
        mask = _mask(stmt)
        later = None if mask is None else _product(stmts, index, *mask, launch)
        if mask is None or later is None:
            kept.append(stmt)
            continue
        buffer, start = mask
        gemm = stmts[later]
        assert isinstance(gemm, Gemm)
        stmts[later] = replace(gemm, clear=scalar.true(), start=start)
        text = "the mask is in DST before the product is added to it"
        decisions.append(Decision("preload", buffer.name, text, start.location))
    return tuple(kept)


def _mask(stmt: Stmt) -> tuple[Buffer, Start] | None:
    """A block that a statement sets to constant tiles as a whole, and when."""
    where = scalar.true()
    if isinstance(stmt, Branch) and len(stmt.then) == 1 and not stmt.otherwise:
        where, stmt = stmt.condition, stmt.then[0]
    if not isinstance(stmt, Map) or stmt.part is not None or not isinstance(stmt.value, Element):
        return None
    return None if stmt.value.tile is None else (stmt.dst, Start(stmt.value, where, stmt.location))


def _product(stmts: list[Stmt], index: int, buffer: Buffer, start: Start, launch: Launch) -> int | None:
    """The place of the product that is added to the mask there, and overwrites the block elsewhere."""
    for later in range(index + 1, len(stmts)):
        gemm = stmts[later]
        if buffer not in mentioned(gemm):
            if any(isinstance(inner, Set | Read) for inner in walk((gemm,))):
                return None  # the condition may be another one by then
            continue
        fits = (
            isinstance(gemm, Gemm)
            and gemm.c is buffer
            and buffer not in (gemm.a, gemm.b)
            and scalar.same_form(gemm.clear, scalar.negate(start.where))
            and launch.layouts[buffer].order is TileOrder.ROWS
            and not launch.layouts[buffer].outer
        )
        return later if fits else None
    return None
