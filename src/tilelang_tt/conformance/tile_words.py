"""Words for tile operations: which boxes of which buffers, which flags, which dtypes."""

from __future__ import annotations

from typing import Any

from tvm import tirx

from tilelang_tt.conformance.words import TILE, Notes, number_of, operator_of
from tilelang_tt.ir import scalar


def note_tile_op(notes: Notes, call: Any) -> bool:
    """Whether the call is a tile operation this census knows; if so, its words are noted."""
    note = _NOTES.get(operator_of(call))
    if note is not None:
        note(notes, call)
    return note is not None


def _box(notes: Notes, region: Any, what: str) -> tuple[str, tuple[Any, ...]]:
    """Where a region lies, and its extents without unit axes."""
    if operator_of(region) != "tl.region":
        notes.use(f"{what} of {type(region).__name__}")
        return "?", ()
    load = region.args[0]
    extents = [number_of(extent) for extent in region.args[2:]]
    for low in load.indices:
        notes.control("address", low)
    if any(extent is None for extent in extents):
        notes.use(f"{what} of dynamic extent")
    live = tuple(extent for extent in extents if extent != 1)
    if load.buffer in notes.tensors:
        axes = tuple(axis for axis, extent in enumerate(extents) if extent != 1)
        rank = len(extents)
        if axes and axes != tuple(range(rank - len(axes), rank)):
            notes.use(f"{what} over tensor axes {axes} of {rank}")
        where = "tensor"
    else:
        where = notes.place(load.buffer)
        whole = [number_of(extent) for extent in load.buffer.shape]
        if extents != whole or any(number_of(low) != 0 for low in load.indices):
            notes.use(f"{what} of part of a {where} buffer")
    if any(extent is None or extent % TILE for extent in live[-2:]):
        notes.use(f"{what} of sub-tile box")
    return where, live


def _copy(notes: Notes, call: Any) -> None:
    src, src_box = _box(notes, call.args[0], "copy")
    dst, dst_box = _box(notes, call.args[1], "copy")
    notes.use(f"copy {src} to {dst}")
    if len(src_box) < 2 or len(dst_box) < 2:
        notes.use(f"copy rank {max(len(src_box), len(dst_box))} {src} to {dst}")
    if len(src_box) > 2:
        notes.use("copy rank 3+")
    if src_box != dst_box:
        notes.use("copy between different boxes")
    if src != "?" and dst != "?":
        types = [str(region.args[0].buffer.dtype) for region in call.args[:2]]
        if types[0] != types[1]:
            notes.use(f"copy casts {types[0]} to {types[1]}")


def _fill(notes: Notes, call: Any) -> None:
    where, live = _box(notes, call.args[0], "fill")
    notes.use(f"fill {where}" + (" rank 1" if len(live) < 2 else ""))
    value = call.args[1]
    if any(operator_of(node) == "tl.infinity" for node in scalar.nodes(value)):
        notes.use("fill with infinity")
    elif any(isinstance(node, (tirx.Var, tirx.BufferLoad)) for node in scalar.nodes(value)):
        notes.use("fill with expression")


def _gemm(notes: Notes, call: Any) -> None:
    where = [_box(notes, region, "gemm")[0] for region in call.args[:3]]
    flags = "".join("T" if bool(flag) else "N" for flag in call.args[3:5])
    notes.use(f"gemm {flags}")
    notes.use(f"gemm from {where[0]} and {where[1]} to {where[2]}")
    types = [str(region.args[0].buffer.dtype) for region in call.args[:3]]
    notes.use(f"gemm {types[0]} x {types[1]} -> {types[2]}")
    if number_of(call.args[9]) is None:
        notes.use("gemm clear_accum by condition")
    elif number_of(call.args[9]):
        notes.use("gemm clear_accum")


def _reduce(notes: Notes, call: Any) -> None:
    where, live = _box(notes, call.args[0], "reduce")
    _box(notes, call.args[1], "reduce result")
    kind, dim = str(call.args[2].value), number_of(call.args[3])
    rank = len(call.args[0].args) - 2
    clear = "clear" if bool(call.args[4]) else "keep"
    notes.use(f"reduce {kind} dim {dim}/{rank} {clear}")
    notes.use(f"reduce from {where}")
    if len(live) == 1:
        notes.use("reduce rank 1 to scalar")


def _transpose(notes: Notes, call: Any) -> None:
    notes.use("tile transpose")
    for region in call.args[:2]:
        _box(notes, region, "transpose")


_NOTES = {
    "tl.tileop.copy": _copy,
    "tl.tileop.fill": _fill,
    "tl.tileop.gemm": _gemm,
    "tl.tileop.reduce": _reduce,
    "tl.tileop.transpose": _transpose,
}
