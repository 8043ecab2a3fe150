"""Boxes of tensors and blocks, as the operands of tile operations.

    T.region(A_shared[0, 64], 1, 64, 64)   -> A_shared_tile, a copy of that part of A_shared

An operation works on whole blocks. A part of one is taken out before it, and put back if the operation changed it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilelang_tt.arch import TILE
from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.frontend.scope import Scope
from tilelang_tt.ir import scalar
from tilelang_tt.ir.tile import Buffer, Element, Map, Part, Region, Stmt, Tensor


@dataclass(frozen=True)
class Operand:
    """A block that an operation works on: the user's, or a copy of a part of it."""

    buffer: Buffer
    take: tuple[Stmt, ...]  # fills the copy
    put: tuple[Stmt, ...]  # puts it back


def region_of(scope: Scope, call: Any, location: Location | None) -> Region:
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


def block_of(scope: Scope, call: Any, location: Location | None, *, written: bool = False) -> Operand:
    """The on-chip block that a region is, or a copy of the part that it covers."""
    region = region_of(scope, call, location)
    if isinstance(region.source, Tensor):
        raise UnsupportedError(
            "TT117",
            f"'{region.source.name}' is a tensor; this operation works on on-chip buffers",
            location=location,
            help="T.copy it to a T.alloc_shared block first",
        )
    return operand(scope, region, location, written=written)


def operand(scope: Scope, region: Region, location: Location | None, *, written: bool) -> Operand:
    """A part that is read may end inside a tile: what it brings along lies behind its end."""
    source = region.source
    assert isinstance(source, Buffer)
    if region.extents == source.shape and all(scalar.int_value(low) == 0 for low in region.mins):
        return Operand(source, (), ())
    for axis, (low, extent) in enumerate(zip(region.mins, region.extents, strict=True)):
        ends = scalar.equal(low + extent, source.shape[axis])
        tiles = scalar.granularity(low) % TILE == 0 and (extent % TILE == 0 or ends or not written)
        if not (tiles if axis >= len(source.shape) - 2 else extent == 1):
            raise UnsupportedError(
                "TT118",
                f"part of '{source.name}' is used that is not made of whole 32x32 tiles",
                location=location,
                help="let parts of on-chip buffers start and end at multiples of 32",
            )
    shape = tuple(extent for extent in region.extents if extent != 1)
    copy = scope.temporary(source.name, source.dtype, shape, location)
    walked = iter(range(len(shape)))
    axes = tuple(None if extent == 1 else next(walked) for extent in region.extents)
    take = Map(copy, Element(source, axes, region.mins), location)
    put = Map(source, Element(copy), location, Part(region.mins, region.extents))
    return Operand(copy, (take,), (put,))
