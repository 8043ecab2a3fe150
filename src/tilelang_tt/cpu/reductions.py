"""Scans, and reductions from one element type to another, which TileLang's CPU backend refuses, as loops.

before   T.reduce_max(x, m, dim=1)                 x : float16, m : float32
after    for i: m[i] = x[i, 0] ; for r from 1: m[i] = max(m[i], x[i, r])

before   T.cumsum(x, y, dim=1)
after    for i: y[i, 0] = x[i, 0] ; for r from 1: y[i, r] = y[i, r - 1] + x[i, r]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import tirx

_COMBINED: dict[str, Callable[[Any, Any], Any]] = {"sum": lambda a, b: a + b, "max": tirx.max, "min": tirx.min}

_SCANS = {"tl.tileop.cumsum": "sum", "tl.tileop.cummax": "max"}


def written_out(call: Any) -> Any:
    """The loops for a call; None: TileLang does it."""
    name = str(getattr(getattr(call, "op", None), "name", ""))
    if name in _SCANS:
        return _scan(call, _COMBINED[_SCANS[name]])
    return _reduction(call) if name == "tl.tileop.reduce" else None


def _scan(call: Any, combine: Callable[[Any, Any], Any]) -> Any:
    source, target = (region.args[0] for region in call.args[:2])
    axis, backwards = int(call.args[2]), bool(call.args[3])
    extents = [int(extent) for extent in call.args[0].args[2:]]
    places = [tirx.Var(f"at_{number}", "int32") for number in range(len(extents))]
    last = extents[axis] - 1

    def element(of: Any, along: Any) -> tuple[Any, list[Any]]:
        at = [along if number == axis else place for number, place in enumerate(places)]
        return of.buffer, [start + place for start, place in zip(of.indices, at, strict=True)]

    def load(of: Any, along: Any) -> Any:
        return tirx.Cast(target.buffer.dtype, tirx.BufferLoad(*element(of, along)))

    def store(along: Any, value: Any) -> Any:
        buffer, indices = element(target, along)
        return tirx.BufferStore(buffer, value, indices)

    step = places[axis] + 1
    here, before = (last - step, last - step + 1) if backwards else (step, step - 1)
    first = tirx.const(last if backwards else 0, "int32")
    rest = store(here, combine(load(target, before), load(source, here)))
    rest = tirx.For(places[axis], 0, last, tirx.ForKind.SERIAL, rest)
    return _around(tirx.SeqStmt([store(first, load(source, first)), rest]), places, extents, axis)


def _around(stmt: Any, places: list[Any], extents: list[int], axis: int) -> Any:
    """Loops over the other axes."""
    for number in reversed(range(len(places))):
        if number != axis:
            stmt = tirx.For(places[number], 0, extents[number], tirx.ForKind.SERIAL, stmt)
    return stmt


def _reduction(call: Any) -> Any:
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
    return _around(stmt, places, extents, axis)
