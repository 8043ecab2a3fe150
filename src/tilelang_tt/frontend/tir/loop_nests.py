"""Build TIR loops over the elements of boxes: what tile operations mean, element by element.

T.copy(A[3, 0:8], X)   ->   for i in T.Parallel(8): X[i] = A[3, i]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tvm import tirx

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.ir import scalar

PARALLEL = tirx.ForKind.PARALLEL
CHIP = "local.fragment"  # the scope of blocks that are not the user's
_NEAR = {"shared": 1, "shared.dyn": 1, "local": 2, CHIP: 2}


def nest(loops: Iterable[tuple[Any, Any]], stmt: Any, kind: Any = PARALLEL) -> Any:
    """A statement inside loops over variables, each with its extent; outer before inner."""
    for var, extent in reversed(list(loops)):
        stmt = tirx.For(var, 0, extent, kind, stmt)
    return stmt


def block_like(block: Any, **changes: Any) -> Any:
    """A block with another `body`, `alloc_buffers` or `annotations`."""
    body, allocated, annotations = (
        changes.get(part, getattr(block, part)) for part in ("body", "alloc_buffers", "annotations")
    )
    parts = (block.iter_vars, block.reads, block.writes, block.name_hint, body, block.init)
    return tirx.SBlock(*parts, allocated, block.match_buffers, annotations)


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


def copied(call: Any, location: Location | None, value: Callable[[Any], Any] = lambda load: load) -> Any:
    """A T.copy, element by element; `value`: what is stored, of what is loaded."""
    (source, low, extents), (target, there, places) = map(box, matched(call, location))
    axes = walked(extents)
    loops = variables(len(axes), "place")
    load = tirx.BufferLoad(source, along(low, axes, loops))
    store = assigned(target, along(there, walked(places), loops), value(load))
    return nest(zip(loops, (extents[axis] for axis in axes), strict=True), store)


def matched(call: Any, location: Location | None) -> tuple[Any, Any]:
    """The two regions of a T.copy, with the same extents along the axes that are walked.

    Where they differ, TileLang goes by those of the buffer nearer to the arithmetic, or of the source.
    """
    regions = call.args[0], call.args[1]
    extents = [[box(region)[2][axis] for axis in walked(box(region)[2])] for region in regions]
    if len(extents[0]) == len(extents[1]) and all(map(scalar.equal, *extents)):
        return regions
    near = max((0, 1), key=lambda side: _NEAR.get(str(box(regions[side])[0].scope()), 0))
    pairs = zip(extents[near], extents[0], strict=False)
    if len(extents[0]) != len(extents[1]) or any(scalar.always(base < source) for base, source in pairs):
        shape = ["x".join(map(str, box(region)[2])) for region in regions]
        raise UnsupportedError(
            "TT119",
            f"T.copy between boxes of different shape: {shape[0]} to {shape[1]}",
            location=location,
            help="make the shapes equal; T.reshape sees a block in another one",
        )
    other = regions[1 - near]
    sizes = dict(zip(walked(box(other)[2]), extents[near], strict=True))
    changed = [sizes.get(axis, extent) for axis, extent in enumerate(box(other)[2])]
    region = tirx.Call(other.dtype, other.op, [*other.args[:2], *changed])
    return (regions[0], region) if near == 0 else (region, regions[1])


def region_like(like: Any, buffer: Any) -> Any:
    """The region that is the whole of a buffer, as another one is written."""
    start = tirx.BufferLoad(buffer, [tirx.const(0, "int32")] * len(buffer.shape))
    return tirx.Call(like.dtype, like.op, [start, like.args[1], *buffer.shape])
