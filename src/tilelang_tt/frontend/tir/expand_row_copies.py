"""Write T.tma_gather4 and T.tma_scatter4, copies of four rows anywhere, as copies of one row each.

before   T.tma_gather4(A, X, 0, [r0, r1, r2, r3], barrier=full)
after    T.copy(A[r0, 0:64], X[0, :]) ; T.copy(A[r1, 0:64], X[1, :]) ; ...
"""

from __future__ import annotations

from tvm import tirx

from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.ir import scalar
from tilelang_tt.tilelang_hooks import get_stmt_span, stamp_stmt_spans

_COPY = "tl.tileop.copy"
_KINDS = ("gather4", "scatter4")


def expand_row_copies(func: tirx.PrimFunc) -> tirx.PrimFunc:
    def rewrite(stmt: tirx.Stmt) -> tirx.Stmt | None:
        call = stmt.value
        if not isinstance(call, tirx.Call) or operator(call) != _COPY:
            return None
        kind = next((kind for kind in _KINDS if f"is_{kind}" in call.annotations), None)
        if kind is None:
            return None
        copies = tirx.SeqStmt([tirx.Evaluate(copy) for copy in _rows(call, kind)])
        stamp_stmt_spans(copies, get_stmt_span(stmt))
        return copies

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, rewrite, None, ["tirx.Evaluate"]))


def _rows(call: tirx.Call, kind: str) -> list[tirx.Call]:
    rows, column = list(call.annotations["gather4_rows"]), call.annotations["gather4_col"]
    barrier = {key: value for key, value in call.annotations.items() if str(key) == "barrier"}
    found = []
    for number, row in enumerate(rows):
        anywhere, inside = [row, column], [scalar.const(number), scalar.const(0)]
        places = (anywhere, inside) if kind == "gather4" else (inside, anywhere)
        regions = [_row(region, place) for region, place in zip(call.args[:2], places, strict=True)]
        found.append(tirx.Call(call.dtype, call.op, regions, barrier))
    return found


def _row(region: tirx.Call, place: list[tirx.PrimExpr]) -> tirx.Call:
    """The same region, one row high, elsewhere."""
    load = tirx.BufferLoad(region.args[0].buffer, place)
    return tirx.Call(region.dtype, region.op, [load, region.args[1], scalar.const(1), region.args[3]], {})
