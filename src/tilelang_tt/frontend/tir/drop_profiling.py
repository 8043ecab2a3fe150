"""Leave out the events of TileLang's profiling tool for CUDA (IKET): they change nothing that a kernel computes.

before   iket.mark("before_store"); C[i] = A[i] + B[i]; iket.mark("after_store")
after    C[i] = A[i] + B[i]
"""

from __future__ import annotations

from tvm import tirx

from tilelang_tt.frontend.lift_expression import operator

# Macros of the tool's header, which calls of `tilelang.tools.cuda.iket` become.
_EVENTS = ("TL_IKET_EVENT", "TL_IKET_EVENT_PAYLOAD_U32", "TL_IKET_EVENT_PAYLOAD_F32")


def drop_profiling(func: tirx.PrimFunc) -> tirx.PrimFunc:
    def without(stmt: tirx.Stmt) -> tirx.Stmt | None:
        return tirx.Evaluate(0) if _is_event(stmt.value) else None

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, None, without, ["tirx.Evaluate"]))


def _is_event(call: tirx.PrimExpr) -> bool:
    return isinstance(call, tirx.Call) and operator(call) == "tirx.call_extern" and str(call.args[0].value) in _EVENTS
