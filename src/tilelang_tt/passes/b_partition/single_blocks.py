"""Let an index of the grid that counts one block count blocks along a product: part of `choose_blocks`, `split_sums`.

    before   bx < 1: Load B tiles (k * 2, 0) 2 x 4 -> b ; Gemm c += a @ b ; Store c -> C tiles (0, 0) 1 x 4
    after    bx < 1: Load B tiles (k * 2, bx * 4) 2 x 4 -> b ; Gemm c += a @ b ; Store c -> C tiles (0, bx * 4) 1 x 4

Then there may be several smaller blocks. A kernel whose block is as large as its tensor loses the index when places are
simplified, since it is always zero.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, TileAccess
from tilelang_tt.ir.fields import expressions, rewritten, walk
from tilelang_tt.ir.scalar import Var, int_value
from tilelang_tt.ir.tile import Gemm, Launch, Load, Stmt, Store, TileProgram
from tilelang_tt.passes.b_partition.block_sizes import Side, index_of_blocks, sides_with


def with_indices(program: TileProgram, launch: Launch) -> Launch:
    """The launch with as many of its idle indices in use as products have sides for them: columns first."""
    used = {var for stmt in walk(launch.body) for expr in expressions(stmt) for var in scalar.variables(expr)}
    idle = [var for var, extent in launch.blocks if int_value(extent) == 1 and var not in used]
    sums = dict.fromkeys(stmt.c for stmt in walk(launch.body) if isinstance(stmt, Gemm))
    for side in ((block, axis) for axis in (1, 0) for block in sums):
        if idle and _tiles(launch, side) > 1:
            found = _indexed(launch, side, idle[0])
            if index_of_blocks(program, found, idle[0], scalar.const(1)) is not None:
                launch = found
                idle.pop(0)
    return launch


def _tiles(launch: Launch, side: Side) -> int:
    layout = launch.layouts[side[0]]
    return {layout.row_axis: layout.rows, layout.col_axis: layout.cols}.get(side[1], 1)


def _indexed(launch: Launch, side: Side, var: Var) -> Launch:
    """With an index along all sides that are walked together with one, as far as loads and stores begin at zero."""
    sides = sides_with(launch.body, side)

    def access(place: TileAccess, block: Buffer) -> TileAccess:
        layout = launch.layouts[block]
        if (block, layout.row_axis) in sides and int_value(place.row) == 0:
            place = replace(place, row=var * layout.rows)
        if (block, layout.col_axis) in sides and int_value(place.col) == 0:
            place = replace(place, col=var * layout.cols)
        return place

    def stmt(old: Stmt) -> list[Stmt] | None:
        if isinstance(old, Load):
            return [replace(old, src=access(old.src, old.dst))]
        return [replace(old, dst=access(old.dst, old.src))] if isinstance(old, Store) else None

    return replace(launch, body=rewritten(launch.body, stmt))
