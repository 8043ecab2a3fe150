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


@dataclass(frozen=True)
class Operand:
    """A block that an operation works on: the user's, or a copy of a part of it."""

    buffer: Buffer
    take: tuple[Stmt, ...] = ()  # fills the copy
    put: tuple[Stmt, ...] = ()  # puts it back


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
