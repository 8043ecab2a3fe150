"""Split copies of boxes with more than two axes into copies of matrices: tiles lie along two axes of a tensor.

before   Copy A[bx, 0, 0, 0 : 1 x 4 x 64 x 64] -> s
after    for n < 4:
             Copy A[bx, n, 0, 0 : 1 x 1 x 64 x 64] -> s_matrix
             Map s[n] = s_matrix
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Part, Region, Tensor, whole
from tilelang_tt.ir.elements import Element
from tilelang_tt.ir.fields import children, with_children
from tilelang_tt.ir.tile import Copy, Loop, Map, Stmt
from tilelang_tt.passes.raise_elements.raising import Raising

_MATRIX = 2  # axes


def split_nd_copies(raising: Raising, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return tuple(_stmt(raising, stmt) for stmt in body)


def _stmt(raising: Raising, stmt: Stmt) -> Stmt:
    if isinstance(stmt, Copy):
        box = stmt.src if isinstance(stmt.src.source, Tensor) else stmt.dst
        block = stmt.dst.source if box is stmt.src else stmt.src.source
        if isinstance(box.source, Tensor) and isinstance(block, Buffer) and len(block.shape) > _MATRIX:
            return _loops(raising, stmt, box, block)
        return stmt
    return with_children(stmt, tuple(split_nd_copies(raising, nested) for nested in children(stmt)))


def _loops(raising: Raising, copy: Copy, box: Region, block: Buffer) -> Stmt:
    walked = [axis for axis, extent in enumerate(box.extents) if extent != 1]
    outer = len(walked) - _MATRIX
    variables = [scalar.var(raising.unique(f"{block.name}_{number}")) for number in range(outer)]
    mins, extents = list(box.mins), list(box.extents)
    for var, axis in zip(variables, walked, strict=False):
        mins[axis], extents[axis] = scalar.simplify(mins[axis] + var), 1
    there = replace(box, mins=tuple(mins), extents=tuple(extents))
    matrix = raising.temporary(block.name, block.dtype, block.shape[outer:], copy.location, "matrix")
    origin = (*variables, scalar.const(0), scalar.const(0))
    if box is copy.src:
        part = Part(origin, (*(1 for _ in variables), *matrix.shape))
        steps: tuple[Stmt, ...] = (
            Copy(there, whole(matrix), copy.location),
            Map(block, Element(matrix), copy.location, part),
        )
    else:
        element = Element(block, (*(None for _ in variables), 0, 1), origin)
        steps = (Map(matrix, element, copy.location), Copy(whole(matrix), there, copy.location))
    for var, extent in reversed(list(zip(variables, block.shape, strict=False))):
        steps = (Loop(var, scalar.const(extent), steps, 0, copy.location),)
    return steps[0]
