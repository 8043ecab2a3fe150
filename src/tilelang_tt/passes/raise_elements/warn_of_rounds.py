"""Tell the user which statements go through their tiles once for every place along an axis, and what that costs.

    y[i, j] = x[i, 255 - j]     warning[TT704]: ... one place after the other, 256 rounds: about 32 times the tiles ...

The axis is one of the statement, or a serial loop around it that picks places out of blocks, as scans do:
`y[i, k] += y[i, k - 1]`.
What is estimated are the tiles that the vector unit takes in: in every round the boxes of tensors that are left, and
every block twice in whole, to pick out a place of it or to put one in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import prod

from tilelang_tt.arch import TILE
from tilelang_tt.diagnostics import warn
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.fields import children
from tilelang_tt.ir.tile import Axis, Each, Loop, Stmt, TileProgram
from tilelang_tt.passes.raise_elements.serial_axes import serial_axes, without_single

_HELP = "make this axis the first one of its tensor and read it from there: rows can be read in any order"
_LOOP_HELP = (
    "make this axis the first one of its tensor, read a row of the tensor in each round, and hand a vector from round "
    "to round (a[j] += x[k, j]); sums of bfloat16 up to each place are also a T.gemm with a block of ones and zeros"
)
_LEAST = 8  # times the tiles: what costs less is not worth a word


def warn_of_rounds(program: TileProgram) -> None:
    """`program` as it is before `raise_to_tiles`."""
    for stmt, loops in (found for launch in program.launches for found in _with_loops(launch.body, ())):
        each = without_single(stmt)
        around = tuple(loop for loop in loops if _picks(each, loop))
        each = replace(each, axes=(*around, *each.axes))
        serial = (*around, *(axis for axis in serial_axes(each) if axis not in around))
        factor = times_the_tiles(each, serial)
        if factor >= _LEAST:
            rounds = prod(axis.extent for axis in serial)
            warn(
                "TT704",
                f"'{each.target.source.name}' is computed one place after the other, in {rounds:,} rounds: "
                f"about {factor:,} times the vector tiles of a walk by whole tiles",
                location=each.location,
                help=_LOOP_HELP if around else _HELP,
            )


def _with_loops(body: Iterable[Stmt], loops: tuple[Axis, ...]) -> Iterator[tuple[Each, tuple[Axis, ...]]]:
    """Every statement over elements, and the loops of a known length around it."""
    for stmt in body:
        inside = loops
        if isinstance(stmt, Loop) and (extent := scalar.int_value(stmt.extent)) is not None:
            inside = (*loops, Axis(stmt.var, extent))
        if isinstance(stmt, Each):
            yield stmt, loops
        for part in children(stmt):
            yield from _with_loops(part, inside)


def _picks(each: Each, loop: Axis) -> bool:
    """Whether each round of a loop uses another place inside the tiles of a block."""
    indices = [index for access in each.accesses if isinstance(access.source, Buffer) for index in access.indices[-2:]]
    start = dict.fromkeys((axis.var for axis in each.axes), scalar.const(0))
    return any(
        loop.var in scalar.variables(index) and scalar.granularity(scalar.substitute(index, start)) % TILE
        for index in indices
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
