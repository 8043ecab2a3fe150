"""Make refused statements a T.Kernel of their own: those before and behind them then use all cores.

before   T.gemm(a, b, c)                                     after   with T.Kernel(...): T.gemm(a, b, c)
         T.atomic_add(C[rows[i], j], c[i, j])                        with T.Kernel(...): T.atomic_add(...)

Blocks of the grid that may change the same elements run one after the other on one core, and everything else in their
T.Kernel with them. A barrier of the grid on both sides sets them apart.
"""

from __future__ import annotations

from collections.abc import Collection

from tvm import ir, tirx

from tilelang_tt.diagnostics import Location
from tilelang_tt.frontend.tir.cut_out_code import KINDS, CannotCutError, Cut
from tilelang_tt.frontend.tir.select_launches import count_launches
from tilelang_tt.frontend.tir.split_at_grid_barriers import split_at_grid_barriers


def set_apart(func: tirx.PrimFunc, number: int, lines: Collection[Location]) -> tirx.PrimFunc | None:
    """The function with statements of a launch set apart; None: they stand in loops or branches, or take too much."""
    try:
        cut = Cut(func, number, lines, [])
    except CannotCutError:
        return None
    body = cut.kernel.body
    outermost = list(body.seq) if isinstance(body, tirx.SeqStmt) else [body]
    if not all(any(map(run[0].same_as, outermost)) for run in cut.runs):
        return None

    def fenced(stmt: tirx.Stmt) -> tirx.Stmt | None:
        before = any(stmt.same_as(run[0]) for run in cut.runs) and not stmt.same_as(outermost[0])
        behind = any(stmt.same_as(run[-1]) for run in cut.runs) and not stmt.same_as(outermost[-1])
        parts = [*([_barrier()] if before else []), stmt, *([_barrier()] if behind else [])]
        return tirx.SeqStmt(parts) if len(parts) > 1 else None

    apart = func.with_body(tirx.stmt_functor.ir_transform(func.body, fenced, None, KINDS))
    split = split_at_grid_barriers(apart)
    return None if count_launches(split) == count_launches(func) else split


def _barrier() -> tirx.Stmt:
    return tirx.Evaluate(tirx.Call("handle", ir.Op.get("tl.sync_grid"), []))
