"""C: let the first product of a sum overwrite the accumulator instead of clearing it beforehand.

    before   Fill C_local = 0 ; Loop k < 16 : Gemm C_local += A @ B
    after    Loop k < 16 : Gemm C_local (+)= A @ B, overwriting where k == 0

The packer then stores the first block and adds the others, and no tile of zeros is ever written.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir import scalar
from tilelang_tt.ir.scalar import Expr, Facts
from tilelang_tt.ir.tile import Buffer, Fill, Gemm, Loop, Stmt, TileProgram, children, with_children
from tilelang_tt.passes.c_tile.liveness import mentions


def fold_clear(program: TileProgram) -> TileProgram:
    facts = Facts()
    for size in program.sizes:
        facts.positive(size)
    decisions: list[Decision] = []

    def rewrite(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        stmts = [with_children(s, tuple(rewrite(nested) for nested in children(s))) for s in body]
        kept: list[Stmt] = []
        for index, stmt in enumerate(stmts):
            if isinstance(stmt, Fill) and stmt.value == 0 and fold(stmts, index, stmt):
                text = "not cleared: the first product overwrites it"
                decisions.append(Decision("fold_clear", stmt.dst.name, text, stmt.location))
            else:
                kept.append(stmts[index])
        return tuple(kept)

    def fold(stmts: list[Stmt], index: int, fill: Fill) -> bool:
        for later in range(index + 1, len(stmts)):
            if mentions((stmts[later],), fill.dst):
                folded = _overwrite_first(stmts[later], fill.dst, None, facts)
                if folded is not None:
                    stmts[later] = folded
                return folded is not None
        return False

    launches = tuple(replace(launch, body=rewrite(launch.body)) for launch in program.launches)
    return replace(program, launches=launches).with_decisions(*decisions)


def _overwrite_first(stmt: Stmt, buffer: Buffer, first: Expr | None, facts: Facts) -> Stmt | None:
    """`stmt` with its first access of `buffer`, a product, made to overwrite; None if that is not its form."""
    if isinstance(stmt, Gemm):
        if stmt.c is not buffer or buffer in (stmt.a, stmt.b):
            return None
        return replace(stmt, clear=scalar.either(stmt.clear, first))
    if not isinstance(stmt, Loop) or not facts.proves(stmt.extent >= 1):
        return None
    index = next(i for i, inner in enumerate(stmt.body) if mentions((inner,), buffer))
    condition = scalar.both(first, scalar.is_zero(stmt.var))
    inner = _overwrite_first(stmt.body[index], buffer, condition, facts.with_loop(stmt.var, stmt.extent))
    if inner is None:
        return None
    return replace(stmt, body=(*stmt.body[:index], inner, *stmt.body[index + 1 :]))
