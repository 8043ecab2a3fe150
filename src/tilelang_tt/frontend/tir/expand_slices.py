"""Expand assignments of slices into loops over their elements.

before   B[t, 0:4] = A[t : t + 4] * 2          in TIR: B[t, Ramp(0, 1, 4)] = A[Ramp(t, 1, 4)] * Broadcast(2, 4)
after    for lane in T.Parallel(4): B[t, lane] = A[t + lane] * 2
"""

from __future__ import annotations

from typing import TypeVar

from tvm import tirx

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.tilelang_hooks import get_stmt_span, stamp_stmt_spans

Node = TypeVar("Node")

_VECTORS = ["tirx.Ramp", "tirx.Broadcast", "tirx.BufferLoad", "tirx.Cast", "tirx.Call"]


def expand_slices(func: tirx.PrimFunc) -> tirx.PrimFunc:
    if _found(func.body, tirx.Shuffle):
        raise UnsupportedError(
            "TT134", "a vector put together from numbers has no form in tiles", help="store its elements one by one"
        )
    lets = _slices(func.body)

    def rewrite(store: tirx.BufferStore) -> tirx.For | None:
        lanes = next((int(index.lanes) for index in store.indices if isinstance(index, tirx.Ramp)), None)
        if lanes is None:
            return None
        lane = tirx.Var("lane", "int32")
        value = tirx.stmt_functor.substitute(store.value, lets)
        one = tirx.BufferStore(store.buffer, _at(value, lane), [_at(index, lane) for index in store.indices])
        loop = tirx.For(lane, 0, lanes, tirx.ForKind.PARALLEL, one)
        stamp_stmt_spans(loop, get_stmt_span(store))
        return loop

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, rewrite, None, ["tirx.BufferStore"]))


def _slices(body: tirx.Stmt) -> dict[tirx.Var, tirx.PrimExpr]:
    """Names for slices, and what they stand for. Refused if a statement may change that before the name is used."""
    lets: dict[tirx.Var, tirx.PrimExpr] = {}
    changed: dict[tirx.Var, set[tirx.Var]] = {}  # name -> memory that other statements than its user may change

    def note(node: tirx.PrimExpr) -> None:
        if isinstance(node, tirx.Bind) and "x" in str(node.var.dtype):
            lets[node.var] = tirx.stmt_functor.substitute(node.value, lets)
            changed[node.var] = set()
        elif isinstance(node, tirx.BufferStore):
            used = set(_found(node.value, tirx.Var))
            for name in changed.keys() - used:
                changed[name].add(node.buffer.data)
        elif isinstance(node, tirx.Evaluate):
            for memory in changed.values():
                memory.update(load.buffer.data for load in _found(node.value, tirx.BufferLoad))

    tirx.stmt_functor.post_order_visit(body, note)
    for var in _found(body, tirx.Var):
        for load in _found(lets[var], tirx.BufferLoad) if var in lets else ():
            if load.buffer.data in changed[var]:
                raise UnsupportedError(
                    "TT134",
                    f"'{var.name}' names a slice of '{load.buffer.name}', which may change before the name is used",
                    help="copy the slice into a block of its own",
                )
    return lets


def _found(node: tirx.PrimExpr | tirx.Stmt, kind: type[Node]) -> list[Node]:
    found: list[Node] = []
    tirx.stmt_functor.post_order_visit(node, lambda one: found.append(one) if isinstance(one, kind) else None)
    return found


def _at(expr: tirx.PrimExpr, lane: tirx.Var) -> tirx.PrimExpr:
    """An element of a vector expression."""

    def scalar(node: tirx.PrimExpr) -> tirx.PrimExpr | None:
        if isinstance(node, tirx.Ramp):
            return node.base + lane * node.stride
        if isinstance(node, tirx.Broadcast):
            return node.value
        if isinstance(node, tirx.BufferLoad):
            return tirx.BufferLoad(node.buffer, list(node.indices))
        dtype = str(node.dtype).partition("x")[0]
        if isinstance(node, tirx.Cast):
            return tirx.Cast(dtype, node.value)
        return tirx.Call(dtype, node.op, list(node.args)) if dtype != str(node.dtype) else None

    return tirx.stmt_functor.ir_transform(tirx.Evaluate(expr), None, scalar, _VECTORS).value
