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
from tilelang_tt.frontend.lift_reductions import reduction
from tilelang_tt.frontend.scope import Scope
from tilelang_tt.frontend.sub_tile_access import Loops
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, whole
from tilelang_tt.ir.elements import Element
from tilelang_tt.ir.tile import Copy, Fill, Map, Stmt
from tilelang_tt.ops.expressions import apply

REDUCER_HINTS = ("reducer_info", "reducer_info_v2")

_NEUTRAL = {"sum": 0.0, "max": -math.inf, "min": math.inf}
_COMBINED: dict[str, tuple[Any, str]] = {"sum": (tirx.Add, "add"), "max": (tirx.Max, "max"), "min": (tirx.Min, "min")}


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


def rounds_of(scope: Scope, loops: Loops, stmt: Any, location: Location | None) -> Loops:
    """The loops that an update runs one round after the other: those that walk the reducer otherwise than over the
    whole of an axis, and all but two of the others, because contributions are a matrix at a time."""
    target, _ = _contribution(scope, stmt, location)
    kept = _kept(target, loops)
    odd = [loop for loop in loops if loop not in kept and any(loop[0] in scalar.variables(i) for i in target.indices)]
    rest = [loop for loop in loops if loop[1] > 1 and loop not in kept and loop not in odd]
    return odd + [*kept, *rest][: max(0, len(kept) + len(rest) - 2)]


class Update:
    """One contribution: `store` fills a block of all iterations', `combine` takes it into the reducer, or into a block
    for the place in it where `put` stores the result."""

    def __init__(self, scope: Scope, loops: Loops, stmt: Any, condition: Any, location: Location | None) -> None:
        self.scope = scope
        self.location = location
        target, value = _contribution(scope, stmt, location)
        self.reducer = scope.buffers[target.buffer]
        self.kind = scope.reducers[target.buffer.data]
        self.kept = _kept(target, loops)
        self.summed = [loop for loop in loops if loop[1] > 1 and loop not in self.kept]
        order = [*self.kept, *self.summed]
        key, self.parts = scope.declared(target.buffer, tuple(extent for _, extent in order) or (1,), location)
        if condition is not None:
            neutral = tirx.const(_NEUTRAL[self.kind], value.dtype)
            value = tirx.Select(condition, value, neutral)
        self.store = tirx.BufferStore(key, value, [var for var, _ in order] or [tirx.const(0, "int32")])
        self.put: Any = None
        if tuple(extent for _, extent in self.kept) != self.reducer.shape:
            shape = tuple(extent for _, extent in self.kept) or (1,)
            key, self.reducer = scope.declared(target.buffer, shape, location)
            new = tirx.BufferLoad(key, [var for var, _ in self.kept] or [tirx.const(0, "int32")])
            self.put = tirx.BufferStore(target.buffer, _COMBINED[self.kind][0](target, new), list(target.indices))

    def combine(self) -> Iterator[Stmt]:
        parts, clear = self.parts, self.put is not None
        if not self.summed:
            both = apply(_COMBINED[self.kind][1], Element(self.reducer), Element(parts))
            yield Map(self.reducer, Element(parts) if clear else both, self.location)
        for number in range(len(self.summed), 0, -1):
            last, axis = number == 1, len(self.kept) + number - 1
            into = self.reducer if last else self._fewer(parts)
            add = clear or not last
            yield from reduction(self.scope, self.kind, parts, into, axis, clear=add, location=self.location)
            parts = into

    def _fewer(self, parts: Buffer) -> Buffer:
        return self.scope.temporary(parts.name, parts.dtype, parts.shape[:-1], self.location)


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
        f"reducer '{stmt.buffer.name}' is assigned something other than a "
        f"{scope.reducers[stmt.buffer.data]} of its element and a value",
        location=location,
        help="use T.reducer_update",
    )


def _kept(target: Any, loops: Loops) -> Loops:
    """The loops that walk an axis of the reducer, each the whole of it and nothing else."""
    found = []
    for extent, index in zip(target.buffer.shape, target.indices, strict=True):
        for var, count in loops:
            others = sum(var in scalar.variables(other) for other in target.indices)
            if others == 1 and scalar.same_form(index, var) and count == scalar.int_value(extent) != 1:
                found.append((var, count))
    return found


REDUCER_OPERATIONS = {
    "tl.tileop.reducer_init": _initialize,
    "tl.tileop.finalize_reducer": _finalize,
    "tl.tileop.finalize_reducer_v2": _finalize,
}
