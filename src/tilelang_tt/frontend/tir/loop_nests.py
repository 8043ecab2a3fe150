"""Build TIR loops over the elements of boxes: what tile operations mean, element by element.

T.copy(A[3, 0:8], X)   ->   for i in T.Parallel(8): X[i] = A[3, i]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tvm import tirx

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.ir import scalar

PARALLEL = tirx.ForKind.PARALLEL
CHIP = "local.fragment"  # the scope of blocks that are not the user's
_NEAR = {"shared": 1, "shared.dyn": 1, "local": 2, CHIP: 2}


def nest(
    loops: Iterable[tuple[tirx.Var, tirx.PrimExpr | int]], stmt: tirx.Stmt, kind: tirx.ForKind = PARALLEL
) -> tirx.Stmt:
    """A statement inside loops over variables, each with its extent; outer before inner."""
    for var, extent in reversed(list(loops)):
        stmt = tirx.For(var, 0, extent, kind, stmt)
    return stmt


def block_like(block: tirx.SBlock, **changes: object) -> tirx.SBlock:
    """A block with another `body`, `alloc_buffers` or `annotations`."""
    body, allocated, annotations = (
        changes.get(part, getattr(block, part)) for part in ("body", "alloc_buffers", "annotations")
    )
    parts = (block.iter_vars, block.reads, block.writes, block.name_hint, body, block.init)
    return tirx.SBlock(*parts, allocated, block.match_buffers, annotations)


def variables(count: int, name: str) -> list[tirx.Var]:
    return [tirx.Var(f"{name}_{axis}", "int32") for axis in range(count)]


def assigned(buffer: tirx.Buffer, places: Sequence[tirx.PrimExpr], value: tirx.PrimExpr) -> tirx.BufferStore:
    """buffer[places] = value, as its element type."""
    return tirx.BufferStore(buffer, value if value.dtype == buffer.dtype else tirx.Cast(buffer.dtype, value), places)


def box(region: tirx.Call) -> tuple[tirx.Buffer, list[tirx.PrimExpr], list[tirx.PrimExpr]]:
    """The buffer of a T.region, where the region begins, and its extents."""
    return region.args[0].buffer, list(region.args[0].indices), list(region.args[2:])


def walked(extents: Iterable[tirx.PrimExpr]) -> list[int]:
    """The axes of a box that have more than one place."""
    return [axis for axis, extent in enumerate(extents) if scalar.int_value(extent) != 1]


def along(starts: Sequence[tirx.PrimExpr], axes: Sequence[int], steps: Sequence[tirx.Var]) -> list[tirx.PrimExpr]:
    """Places of a box: `steps` from its start along some axes, at the start along the others."""
    step = dict(zip(axes, steps, strict=True))
    return [low + step[axis] if axis in step else low for axis, low in enumerate(starts)]


def copied(call: tirx.Call, location: Location | None) -> tirx.Stmt:
    """A T.copy, element by element."""
    (source, low, extents), (target, there, places) = map(box, matched(call, location))
    axes = walked(extents)
    loops = variables(len(axes), "place")
    load = tirx.BufferLoad(source, along(low, axes, loops))
    store = assigned(target, along(there, walked(places), loops), load)
    return nest(zip(loops, (extents[axis] for axis in axes), strict=True), store)


def matched(call: tirx.Call, location: Location | None) -> tuple[tirx.Call, tirx.Call]:
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


def region_like(like: tirx.Call, buffer: tirx.Buffer) -> tirx.Call:
    """The region that is the whole of a buffer, as another one is written."""
    start = tirx.BufferLoad(buffer, [tirx.const(0, "int32")] * len(buffer.shape))
    return tirx.Call(like.dtype, like.op, [start, like.args[1], *buffer.shape])


def reduced_by_parts(call: tirx.Call, extents: list[int], dim: int, inner: list[int]) -> tirx.Stmt:
    """A T.reduce_* of a part over the axes `inner`, one for each place along the others."""
    source = call.args[0].args[0].buffer
    each = variables(len(extents), "part")
    kept = [axis for axis in inner if axis != dim]
    part = tirx.decl_buffer([extents[axis] for axis in inner], source.dtype, f"{source.name}_part", scope=CHIP)
    row_shape = [extents[axis] for axis in kept] or [1]
    target, there = _target(call, dim, each)
    row = tirx.decl_buffer(row_shape, target.dtype, f"{source.name}_row", scope=CHIP)
    row_at = [each[axis] for axis in kept] or [tirx.const(0, "int32")]

    def over(axes: list[int], stmt: tirx.Stmt, kind: tirx.ForKind = PARALLEL) -> tirx.Stmt:
        return nest([(each[axis], extents[axis]) for axis in axes], stmt, kind)

    take = over(inner, tirx.BufferStore(part, tirx.BufferLoad(source, each), [each[axis] for axis in inner]))
    old = over(kept, tirx.BufferStore(row, tirx.BufferLoad(target, there), row_at))
    regions = [region_like(call.args[0], part), region_like(call.args[1], row)]
    along = tirx.const(inner.index(dim), "int32")
    reduce = tirx.Evaluate(tirx.Call(call.dtype, call.op, [*regions, call.args[2], along, *call.args[4:]]))
    put = over(kept, tirx.BufferStore(target, tirx.BufferLoad(row, row_at), there))
    steps = [take, reduce, put] if bool(call.args[4]) else [take, old, reduce, put]
    outer = [axis for axis in range(len(extents)) if axis not in inner]
    body = over(outer, tirx.SeqStmt(steps), tirx.ForKind.SERIAL)
    block = tirx.SBlock([], [], [], "parts", body, alloc_buffers=[part, row])
    return tirx.SBlockRealize([], tirx.const(True, "bool"), block)


def _target(call: tirx.Call, dim: int, each: list[tirx.Var]) -> tuple[tirx.Buffer, list[tirx.PrimExpr]]:
    """The buffer of the result, and where an element is in it; the axis that is reduced may be there, of length 1."""
    start = call.args[1].args[0]
    places = [tirx.const(0, "int32") if axis == dim else var for axis, var in enumerate(each)]
    if len(start.indices) != len(places):
        del places[dim]
    return start.buffer, [low + place for low, place in zip(start.indices, places, strict=True)]
