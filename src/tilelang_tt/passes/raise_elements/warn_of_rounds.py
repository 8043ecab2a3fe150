"""Tell the user which statements go through their tiles once for every place along an axis, and what that costs.

    y[i, j] = x[i, 255 - j]     warning[TT704]: ... one place after the other, 256 rounds: about 32 times the tiles ...

What is estimated are the tiles that the vector unit takes in: in every round the boxes of tensors that are left, and
every block twice in whole, to pick out a place of it or to put one in.
"""

from __future__ import annotations

from math import prod

from tilelang_tt.arch import TILE
from tilelang_tt.diagnostics import warn
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.tile import Axis, Each, TileProgram
from tilelang_tt.passes.raise_elements.serial_axes import serial_axes, without_single

_HELP = "make this axis the first one of its tensor and read it from there: rows can be read in any order"
_LEAST = 8  # times the tiles: what costs less is not worth a word


def warn_of_rounds(program: TileProgram) -> None:
    """`program` as it is before `raise_to_tiles`."""
    for stmt in (stmt for launch in program.launches for stmt in walk(launch.body)):
        if isinstance(stmt, Each):
            each = without_single(stmt)
            serial = serial_axes(each)
            factor = times_the_tiles(each, serial)
            if factor >= _LEAST:
                rounds = prod(axis.extent for axis in serial)
                warn(
                    "TT704",
                    f"'{each.target.source.name}' is computed one place after the other, in {rounds:,} rounds: "
                    f"about {factor:,} times the vector tiles of a walk by whole tiles",
                    location=each.location,
                    help=_HELP,
                )


def times_the_tiles(each: Each, serial: tuple[Axis, ...]) -> int:
    """How many times the tiles go through the vector unit that a statement without serial axes would need."""
    if not serial:
        return 1
    moving = {axis.var for axis in serial}
    left = _tiles([axis.extent for axis in each.axes if axis not in serial])
    one_round = 0
    for access in each.accesses:
        picked = any(each.depends_on(index) & moving for index in access.indices)
        block = access.source if picked and isinstance(access.source, Buffer) else None
        one_round += left if block is None else 2 * _tiles(list(block.shape))
    once = _tiles([axis.extent for axis in each.axes]) * len(each.accesses)
    return prod(axis.extent for axis in serial) * one_round // once


def _tiles(extents: list[int]) -> int:
    return prod(extents[:-2]) * prod(-(-extent // TILE) for extent in extents[-2:])
