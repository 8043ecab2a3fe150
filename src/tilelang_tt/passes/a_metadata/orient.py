"""Find which axis of every tensor and buffer runs along tile rows, and which along tile columns.

    acc[64, 128] : rows, columns          Reduce m = max of acc along j  :  m[64] : rows
    Map acc = acc * s[i] + b[j]           s[64] : rows, b[128] : columns

Matrices on chip are known: their last two axes. Vectors take the side of what they are copied from or computed with,
and tensors that of the blocks they are copied to. A vector that nothing ties to a matrix lies along columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from tilelang_tt.ir.buffers import Buffer, Region, Tensor
from tilelang_tt.ir.elements import elements
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.tile import Copy, Map, Reduce, Stmt, TileProgram


class Side(Enum):
    """Of tiles: what an axis of a tensor or buffer runs along."""

    ROW = "row"
    COL = "column"


Axis = tuple[Tensor | Buffer, int]
Sides = dict[Axis, Side]


def orient(program: TileProgram) -> Sides:
    """The side of every axis that has one; the others number batches."""
    sides: Sides = {}
    for launch in program.launches:
        for buffer in launch.buffers:
            if len(buffer.shape) >= 2:
                sides[buffer, len(buffer.shape) - 2] = Side.ROW
                sides[buffer, len(buffer.shape) - 1] = Side.COL
    ties = [tie for launch in program.launches for stmt in walk(launch.body) for tie in _ties(stmt)]
    _spread(sides, [tie for tie in ties if _of_matrix(tie)])  # where a vector says otherwise, it is the one to turn
    _spread(sides, ties)
    for a, b in ties:
        if a not in sides and b not in sides and any(len(axis[0].shape) == 1 for axis in (a, b)):
            sides[a] = Side.COL
            _spread(sides, ties)
    for launch in program.launches:
        for buffer in launch.buffers:
            if len(buffer.shape) == 1:
                sides.setdefault((buffer, 0), Side.COL)
    return sides


def _of_matrix(tie: tuple[Axis, Axis]) -> bool:
    """Whether a tie is one of a tensor and a block of matrices."""
    return any(isinstance(a[0], Buffer) and len(a[0].shape) >= 2 for a in tie) and any(
        isinstance(a[0], Tensor) for a in tie
    )


def _spread(sides: Sides, ties: list[tuple[Axis, Axis]]) -> None:
    """Give tied axes the same side; one that already has a side keeps it."""
    changed = True
    while changed:
        changed = False
        for a, b in ties:
            for known, other in ((a, b), (b, a)):
                if known in sides and other not in sides:
                    sides[other] = sides[known]
                    changed = True


def _ties(stmt: Stmt) -> Iterator[tuple[Axis, Axis]]:
    """Pairs of axes that a statement walks together."""
    if isinstance(stmt, Copy):
        pairs = zip(walked(stmt.src), walked(stmt.dst), strict=True)
        yield from (((stmt.src.source, a), (stmt.dst.source, b)) for a, b in pairs)
    elif isinstance(stmt, Map):
        for element in elements(stmt.value):
            yield from (
                ((element.buffer, axis), (stmt.dst, stmt.axes[to]))
                for axis, to in enumerate(element.walked)
                if to is not None
            )
    elif isinstance(stmt, Reduce):
        kept = [axis for axis in range(len(stmt.src.shape)) if axis != stmt.axis]
        yield from (((stmt.src, axis), (stmt.dst, to)) for to, axis in enumerate(kept))


def walked(region: Region) -> list[int]:
    """The axes that a box extends over."""
    return [axis for axis, extent in enumerate(region.extents) if extent != 1]
