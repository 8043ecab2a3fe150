"""Write copies of cp.async, elements one behind the other, as loops.

    before   T.ptx_cp_async(T.access_ptr(X[r, 0], "w", 8), T.access_ptr(A[r, 64], "r", 8), 8)
    after    for e in T.Parallel(8):
                 X[r, e] = A[r, 64 + e]

    before   threads 0..127: T.ptx_cp_async(access_ptr(X[tx // 8, tx % 8 * 8]), access_ptr(A[tx // 8, tx % 8 * 8]), 8)
    after    for i, j in T.Parallel(16, 64):
                 X[i, j] = A[i, j]               simplified: tx = i * 8 + j // 8, element j % 8

They are done at once: a program that waits for them as it should sees no difference.
"""

from __future__ import annotations

from collections.abc import Collection

from tvm import tirx

from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.ir import scalar
from tilelang_tt.ir.scalar import Var
from tilelang_tt.tilelang_hooks import get_stmt_span, stamp_stmt_spans

_COPY = "tl.ptx_cp_async"


def expand_cp_async(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Copies that all threads do alike, as one T.Parallel."""
    return _expanded(func, tirx.ForKind.PARALLEL, _thread_indices(func.body))


def expand_cp_async_of_threads(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Copies that every thread does for itself."""
    return _expanded(func, tirx.ForKind.SERIAL, ())


def spread_over_threads(stmt: tirx.Stmt, index: Var, members: Collection[int]) -> tirx.Stmt | None:
    """A copy that threads one behind the other do, each with its index, as one T.Parallel; None: it is none."""
    first = min(members)
    store = _store(stmt)
    if store is None or set(members) != set(range(first, first + len(members))):
        return None
    (element, count), copy = store
    line = _threads_of_a_row(copy, len(members))
    row, column = scalar.var("i"), scalar.var("j")
    thread = row * line + scalar.floordiv(column, count) + first
    copy = tirx.stmt_functor.substitute(copy, {index: thread, element: scalar.floormod(column, count)})
    return _looped(stmt, copy, [(column, line * count), (row, len(members) // line)], tirx.ForKind.PARALLEL)


def _threads_of_a_row(copy: tirx.Stmt, threads: int) -> int:
    """How many threads copy side by side, as indices have it: `tx % 8 * 8`; 1: each copies for itself."""
    divisors = [scalar.int_value(node.b) for node in scalar.nodes(copy, tirx.FloorMod)]
    return next((divisor for divisor in divisors if divisor is not None and threads % divisor == 0), 1)


def _expanded(func: tirx.PrimFunc, kind: tirx.ForKind, without: Collection[Var]) -> tirx.PrimFunc:
    def rewrite(stmt: tirx.Stmt) -> tirx.Stmt | None:
        store = _store(stmt)
        if store is None or any(var in without for var in scalar.variables(stmt)):
            return None
        return _looped(stmt, store[1], [store[0]], kind)

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, rewrite, None, ["tirx.Evaluate"]))


def _store(stmt: tirx.Stmt) -> tuple[tuple[Var, int], tirx.Stmt] | None:
    """An element with its number, and how it is copied; None: the statement is no such copy, or crosses rows."""
    call = stmt.value if isinstance(stmt, tirx.Evaluate) else None
    if not isinstance(call, tirx.Call) or operator(call) != _COPY:
        return None
    pointers, (length, *condition) = call.args[:2], call.args[2:]
    count = scalar.int_value(length)
    if count is None or any(operator(pointer) != "tl.access_ptr" for pointer in pointers):
        return None
    target, source = (pointer.args[0] for pointer in pointers)
    if not all(_holds_whole(load, count) for load in (target, source)):
        return None
    element = scalar.var("e")
    there, taken = ([*load.indices[:-1], load.indices[-1] + element] for load in (target, source))
    value = tirx.BufferLoad(source.buffer, taken)
    if condition:  # what is not copied is filled with zeros
        value = tirx.if_then_else(condition[0], value, tirx.const(0, value.dtype))
    return (element, count), tirx.BufferStore(target.buffer, value, there)


def _holds_whole(load: tirx.BufferLoad, count: int) -> bool:
    """Whether so many elements from an aligned place on lie in one row."""
    row = scalar.int_value(load.buffer.shape[-1])
    return row is not None and row % count == 0


def _looped(stmt: tirx.Stmt, copy: tirx.Stmt, loops: list[tuple[Var, int]], kind: tirx.ForKind) -> tirx.Stmt:
    for var, extent in loops:
        copy = tirx.For(var, scalar.const(0), scalar.const(extent), kind, copy)
    stamp_stmt_spans(copy, get_stmt_span(stmt))
    return copy


def _thread_indices(body: tirx.Stmt) -> set[Var]:
    binds = scalar.nodes(body, tirx.Bind)
    return {bind.var for bind in binds if operator(bind.value).endswith("launch_thread_idx")}
