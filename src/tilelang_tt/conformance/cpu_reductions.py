"""Reductions from one element type to another, which TileLang's CPU backend refuses, written out as loops.

before   T.reduce_max(x, m, dim=1)                 x : float16, m : float32
after    for i: m[i] = x[i, 0] ; for r from 1: m[i] = max(m[i], x[i, r])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import tirx

_COMBINED: dict[str, Callable[[Any, Any], Any]] = {"sum": lambda a, b: a + b, "max": tirx.max, "min": tirx.min}


def written_out(call: Any) -> Any:
    """The loops for a call of T.reduce between two types; None: TileLang does it."""
    if str(getattr(getattr(call, "op", None), "name", "")) != "tl.tileop.reduce":
        return None
    source, target = (region.args[0] for region in call.args[:2])
    kind, axis, clear = str(call.args[2].value), int(call.args[3]), bool(int(call.args[4]))
    combine = _COMBINED.get(kind.removeprefix("abs"))
    if source.buffer.dtype == target.buffer.dtype or combine is None:
        return None
    extents = [int(extent) for extent in call.args[0].args[2:]]
    places = [tirx.Var(f"at_{number}", "int32") for number in range(len(extents))]

    def element(along: Any) -> Any:
        at = [along if number == axis else place for number, place in enumerate(places)]
        indices = [start + place for start, place in zip(source.indices, at, strict=True)]
        value = tirx.Cast(target.buffer.dtype, tirx.BufferLoad(source.buffer, indices))
        return tirx.abs(value) if kind.startswith("abs") else value

    kept = [place for number, place in enumerate(places) if number != axis]
    if len(target.indices) == len(places):
        kept.insert(axis, tirx.const(0, "int32"))
    result = [start + place for start, place in zip(target.indices, kept, strict=True)]

    def store(value: Any) -> Any:
        return tirx.BufferStore(target.buffer, value, result)

    first = int(clear)
    step = store(combine(tirx.BufferLoad(target.buffer, result), element(places[axis] + first)))
    stmt: Any = tirx.For(places[axis], 0, extents[axis] - first, tirx.ForKind.SERIAL, step)
    if clear:
        stmt = tirx.SeqStmt([store(element(tirx.const(0, "int32"))), stmt])
    for number in reversed(range(len(places))):
        if number != axis:
            stmt = tirx.For(places[number], 0, extents[number], tirx.ForKind.SERIAL, stmt)
    return stmt
