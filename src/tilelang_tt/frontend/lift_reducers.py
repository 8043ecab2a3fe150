"""Lift reducers: what all iterations of T.Parallel contribute to a block, combined.

    before   for i, j in T.Parallel(64, 32):
                 T.reducer_update(r[i], A[i, j] * x[j])
    after    Each i < 64, j < 32: r[i] sum= A[i, j] * x[j]

The older form, `r[i] += A[i, j] * x[j]` on a reducer with a replication, means the same. A reducer is an ordinary block
here: there are no threads with copies of their own, so that finalizing it is nothing, or a copy.
"""

from __future__ import annotations

from collections.abc import Mapping

from tvm import tirx

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.frontend.scope import Scope
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import whole
from tilelang_tt.ir.scalar import Var
from tilelang_tt.ir.tile import Copy, Stmt
from tilelang_tt.ops.reduction_kinds import REDUCERS

REDUCER_HINTS = ("reducer_info", "reducer_info_v2")

_COMBINED: dict[str, type[tirx.PrimExpr]] = {"sum": tirx.Add, "max": tirx.Max, "min": tirx.Min}


def declare_reducers(scope: Scope, annotation: Mapping[Var, Mapping[str, str]], location: Location | None) -> None:
    for data, facts in annotation.items():
        op = str(facts["op"])
        if op not in REDUCERS:
            raise UnsupportedError(
                "TT107",
                f"a reducer with op='{op}' is not supported by this version",
                location=location,
                help=f"supported: {', '.join(REDUCERS)}",
            )
        scope.reducers[data] = op


def _finalize(scope: Scope, call: tirx.Call, location: Location | None) -> tuple[Stmt, ...]:
    """T.finalize_reducer, in place or to another block."""
    if len(call.args) == 1:
        return ()
    source, target = (scope.buffers[arg.args[0].buffer] for arg in call.args[:2])
    return (Copy(whole(source), whole(target), location),)


def is_update(scope: Scope, stmt: tirx.Stmt) -> bool:
    if isinstance(stmt, tirx.BufferStore):
        return stmt.buffer.data in scope.reducers
    return (
        isinstance(stmt, tirx.Evaluate)
        and isinstance(stmt.value, tirx.Call)
        and str(stmt.value.op.name) == "tl.reducer_update"
    )


def contribution(scope: Scope, stmt: tirx.Stmt, location: Location | None) -> tuple[tirx.BufferLoad, tirx.PrimExpr]:
    """The element of the reducer, and what is taken into it."""
    if isinstance(stmt, tirx.Evaluate):
        return stmt.value.args[0], stmt.value.args[1]
    target = tirx.BufferLoad(stmt.buffer, stmt.indices)
    combined = _COMBINED[scope.reducers[stmt.buffer.data]]
    if isinstance(stmt.value, combined):
        for old, value in ((stmt.value.a, stmt.value.b), (stmt.value.b, stmt.value.a)):
            if scalar.same_form(old, target):
                return target, value
    raise UnsupportedError(
        "TT137",
        f"reducer '{stmt.buffer.name}' is assigned something other than a "
        f"{scope.reducers[stmt.buffer.data]} of its element and a value",
        location=location,
        help="use T.reducer_update",
    )


REDUCER_OPERATIONS = {
    "tl.tileop.finalize_reducer": _finalize,
    "tl.tileop.finalize_reducer_v2": _finalize,
}
