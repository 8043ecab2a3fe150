"""Loops over the elements of boxes, in TIR: what tile operations mean, written out.

T.copy(A[3, 0:8], X)   ->   for i in T.Parallel(8): X[i] = A[3, i]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tvm import tirx

from tilelang_tt.ir import scalar

PARALLEL = tirx.ForKind.PARALLEL


def nest(loops: Iterable[tuple[Any, Any]], stmt: Any, kind: Any = PARALLEL) -> Any:
    """A statement inside loops over variables, each with its extent; outer before inner."""
    for var, extent in reversed(list(loops)):
        stmt = tirx.For(var, 0, extent, kind, stmt)
    return stmt


def variables(count: int, name: str) -> list[Any]:
    return [tirx.Var(f"{name}_{axis}", "int32") for axis in range(count)]


def assigned(buffer: Any, places: Sequence[Any], value: Any) -> Any:
    """buffer[places] = value, as its element type."""
    return tirx.BufferStore(buffer, value if value.dtype == buffer.dtype else tirx.Cast(buffer.dtype, value), places)


def box(region: Any) -> tuple[Any, list[Any], list[Any]]:
    """The buffer of a T.region, where the region begins, and its extents."""
    return region.args[0].buffer, list(region.args[0].indices), list(region.args[2:])


def walked(extents: Iterable[Any]) -> list[int]:
    """The axes of a box that have more than one place."""
    return [axis for axis, extent in enumerate(extents) if scalar.int_value(extent) != 1]


def along(starts: Sequence[Any], axes: Sequence[int], steps: Sequence[Any]) -> list[Any]:
    """Places of a box: `steps` from its start along some axes, at the start along the others."""
    step = dict(zip(axes, steps, strict=True))
    return [low + step[axis] if axis in step else low for axis, low in enumerate(starts)]


def region_like(like: Any, buffer: Any) -> Any:
    """The region that is the whole of a buffer, as another one is written."""
    start = tirx.BufferLoad(buffer, [tirx.const(0, "int32")] * len(buffer.shape))
    return tirx.Call(like.dtype, like.op, [start, like.args[1], *buffer.shape])
