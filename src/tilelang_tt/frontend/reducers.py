"""Lift reducers: what all iterations of T.Parallel contribute to a block, combined.

    before   for i, j in T.Parallel(64, 32):
                 T.reducer_update(r[i], A[i, j] * x[j])
    after    Map r_parts = A * x[j] ; Reduce r += sum of r_parts along j

The older form, `r[i] += A[i, j] * x[j]` on a reducer with a replication, means the same. A reducer is an ordinary block
here: there are no threads with copies of their own, so that finalizing it is nothing, or a copy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tvm import tirx

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.frontend.reductions import reduction
from tilelang_tt.frontend.scope import Scope
from tilelang_tt.ir import scalar
from tilelang_tt.ir.elements import Apply, Element
from tilelang_tt.ir.places import whole
from tilelang_tt.ir.scalar import Var
from tilelang_tt.ir.tile import Copy, Fill, Map, Stmt

REDUCER_HINTS = ("reducer_info", "reducer_info_v2")

_NEUTRAL = {"sum": 0.0, "max": -math.inf, "min": math.inf}
_COMBINED = {"sum": (tirx.Add, "add"), "max": (tirx.Max, "max"), "min": (tirx.Min, "min")}


def declare_reducers(scope: Scope, annotation: Any, location: Location | None) -> None:
    for data, facts in annotation.items():
        op = str(facts["op"])
        if op not in _NEUTRAL:
            raise UnsupportedError(
                "TT107",
                f"a reducer with op='{op}' is not supported by this version",
                location=location,
                help=f"supported: {', '.join(_NEUTRAL)}",
            )
        scope.reducers[data] = op


def _initialize(scope: Scope, call: Any, location: Location | None) -> tuple[Stmt, ...]:
    """T.reducer_init."""
    buffer = call.args[0].args[0].buffer
    return (Fill(scope.buffers[buffer], _NEUTRAL[scope.reducers[buffer.data]], location),)


def _finalize(scope: Scope, call: Any, location: Location | None) -> tuple[Stmt, ...]:
    """T.finalize_reducer, in place or to another block."""
    if len(call.args) == 1:
        return ()
    source, target = (scope.buffers[arg.args[0].buffer] for arg in call.args[:2])
    return (Copy(whole(source), whole(target), location),)


def is_update(scope: Scope, stmt: Any) -> bool:
    if isinstance(stmt, tirx.BufferStore):
        return stmt.buffer.data in scope.reducers
    return (
        isinstance(stmt, tirx.Evaluate)
        and isinstance(stmt.value, tirx.Call)
        and str(stmt.value.op.name) == "tl.reducer_update"
    )


class Update:
    """One contribution: `store` fills a block of all iterations', `combine` takes it into the reducer."""

    def __init__(
        self, scope: Scope, loops: list[tuple[Var, int]], stmt: Any, condition: Any, location: Location | None
    ) -> None:
        self.scope = scope
        self.location = location
        target, value = _contribution(scope, stmt, location)
        self.reducer = scope.buffers[target.buffer]
        self.kind = scope.reducers[target.buffer.data]
        walked = [_walked(target, axis, loops, location) for axis in range(len(target.indices))]
        kept = [loop for loop in walked if loop is not None]
        self.summed = [loop for loop in loops if loop[1] > 1 and loop not in kept]
        order = [*kept, *self.summed]
        key, self.parts = scope.declared(target.buffer, tuple(extent for _, extent in order), location)
        if condition is not None:
            neutral = tirx.const(_NEUTRAL[self.kind], value.dtype)
            value = tirx.Select(condition, value, neutral)
        self.store = tirx.BufferStore(key, value, [var for var, _ in order])

    def combine(self) -> Iterator[Stmt]:
        parts, rank = self.parts, len(self.parts.shape)
        if not self.summed:
            value = Apply(_COMBINED[self.kind][1], (Element(self.reducer), Element(parts)))
            yield Map(self.reducer, value, self.location)
        for axis in range(rank - 1, rank - len(self.summed), -1):
            fewer = self.scope.temporary(parts.name, parts.dtype, parts.shape[:-1], self.location)
            yield from reduction(self.scope, self.kind, parts, fewer, axis, clear=True, location=self.location)
            parts = fewer
        if self.summed:
            axis = rank - len(self.summed)
            yield from reduction(self.scope, self.kind, parts, self.reducer, axis, clear=False, location=self.location)


def _contribution(scope: Scope, stmt: Any, location: Location | None) -> tuple[Any, Any]:
    """The element of the reducer, and what is taken into it."""
    if isinstance(stmt, tirx.Evaluate):
        return stmt.value.args[0], stmt.value.args[1]
    target = tirx.BufferLoad(stmt.buffer, stmt.indices)
    combined = _COMBINED[scope.reducers[stmt.buffer.data]][0]
    if isinstance(stmt.value, combined):
        for old, value in ((stmt.value.a, stmt.value.b), (stmt.value.b, stmt.value.a)):
            if scalar.same_form(old, target):
                return target, value
    raise UnsupportedError(
        "TT137",
        f"reducer '{stmt.buffer.name}' is assigned something else than a "
        f"{scope.reducers[stmt.buffer.data]} of its element and a value",
        location=location,
        help="use T.reducer_update",
    )


def _walked(target: Any, axis: int, loops: list[tuple[Var, int]], location: Location | None) -> tuple[Var, int] | None:
    """The loop that walks an axis of the reducer; None along an axis of one element."""
    extent, index = scalar.int_value(target.buffer.shape[axis]), target.indices[axis]
    if extent == 1:
        return None
    for var, count in loops:
        if scalar.same_form(index, var) and count == extent:
            return var, count
    raise UnsupportedError(
        "TT132",
        f"'{target.buffer.name}[{', '.join(map(str, target.indices))}]' does not walk the whole of the block",
        location=location,
        help="index each axis by a variable of T.Parallel, over the block's whole extent",
    )


REDUCER_OPERATIONS = {
    "tl.tileop.reducer_init": _initialize,
    "tl.tileop.finalize_reducer": _finalize,
    "tl.tileop.finalize_reducer_v2": _finalize,
}
