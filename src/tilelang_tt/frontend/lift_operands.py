"""Boxes of tensors and blocks, as the operands of tile operations.

    T.region(A_shared[0, 64], 1, 64, 64)   -> A_shared_tile, a copy of that part of A_shared

An operation works on whole blocks. A part of one is taken out before it, and put back if the operation changed it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.frontend.scope import Scope
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Region, is_whole, whole
from tilelang_tt.ir.tile import Copy, Stmt

_NEAR = {"shared": 1, "shared.dyn": 1, "local": 2, "local.fragment": 2}  # to the arithmetic

# Annotations of copies that do not mean what their regions say.
_OTHER_COPIES = {
    "cluster_mask": "a TMA load for several blocks",
    "dst_block": "a copy to another block's memory",
}
_PLAIN_COPIES = "write a T.copy for each box that is moved"


@dataclass(frozen=True)
class Operand:
    """A block that an operation works on: the user's, or a copy of a part of it."""

    buffer: Buffer
    take: tuple[Stmt, ...] = ()  # fills the copy
    put: tuple[Stmt, ...] = ()  # puts it back


def box(region: tirx.Call) -> tuple[tirx.Buffer, list[tirx.PrimExpr], list[tirx.PrimExpr]]:
    """The buffer of a T.region, where the region begins, and its extents."""
    return region.args[0].buffer, list(region.args[0].indices), list(region.args[2:])


def _walked(extents: list[tirx.PrimExpr]) -> list[int]:
    """The axes of a box that have more than one place."""
    return [axis for axis, extent in enumerate(extents) if scalar.int_value(extent) != 1]


def keeps_nan(call: tirx.Call) -> bool:
    """Whether a T.reduce_max and its kin is told to give NaN where there is one."""
    return bool(call.annotations.get("nan_propagate", False))


def matched(call: tirx.Call, location: Location | None) -> tuple[tirx.Call, tirx.Call]:
    """The two regions of a T.copy, with the same extents along the axes that are walked.

    Where they differ, TileLang goes by those of the buffer nearer to the arithmetic, or of the source.
    """
    for key, what in _OTHER_COPIES.items():
        if key in call.annotations:
            raise UnsupportedError("TT102", f"a copy with '{key}' is {what}", location=location, help=_PLAIN_COPIES)
    regions = call.args[0], call.args[1]
    extents = [[box(region)[2][axis] for axis in _walked(box(region)[2])] for region in regions]
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
    sizes = dict(zip(_walked(box(other)[2]), extents[near], strict=True))
    changed = [sizes.get(axis, extent) for axis, extent in enumerate(box(other)[2])]
    region = tirx.Call(other.dtype, other.op, [*other.args[:2], *changed])
    return (regions[0], region) if near == 0 else (region, regions[1])


def region_of(scope: Scope, call: tirx.Call, location: Location | None) -> Region:
    load = call.args[0]
    extents = tuple(scalar.int_value(extent) for extent in call.args[2:])
    static = tuple(extent for extent in extents if extent is not None)
    if len(static) != len(extents):
        raise UnsupportedError(
            "TT115",
            f"region of '{load.buffer.name}' has an extent known only at run time",
            location=location,
            help="copy blocks of constant size; tails are cut by the tensor's bounds",
        )
    source = scope.source(load.buffer, location)
    mins = tuple(scope.expr(index, location) for index in load.indices)
    if isinstance(source, Buffer):
        axes = [axis for axis, extent in enumerate(load.buffer.shape) if scalar.int_value(extent) != 1]
        return Region(source, tuple(mins[axis] for axis in axes), tuple(static[axis] for axis in axes))
    return Region(source, mins, static)


def operand(scope: Scope, call: tirx.Call, location: Location | None) -> Operand:
    """The on-chip block that a region is, or a copy of the part, or of the box of a tensor, that it covers."""
    region = region_of(scope, call, location)
    source = region.source
    if isinstance(source, Buffer) and is_whole(region):
        return Operand(source)
    shape = tuple(extent for extent in region.extents if extent != 1)
    block = scope.temporary(source.name, source.dtype, shape, location)
    return Operand(block, (Copy(region, whole(block), location),), (Copy(whole(block), region, location),))


def refuse_own_target(call: tirx.Call, location: Location | None) -> None:
    """Of an atomic update of a whole block that each thread has for itself, each thread would do a part."""
    buffer = box(call.args[1])[0]
    if str(buffer.scope()) == "local":
        raise UnsupportedError(
            "TT161",
            f"all threads together update '{buffer.name}', but each thread has its own",
            location=location,
            help="use T.alloc_shared or T.alloc_fragment, or update the elements in T.serial",
        )
