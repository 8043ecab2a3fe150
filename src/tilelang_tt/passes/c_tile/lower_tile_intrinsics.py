"""C: fit products to the matrix engine.

    before   Gemm C_local += A_shared^T @ B_shared             C_local 4 x 4 tiles, DST holds 4
    after    Transpose A_shared -> A_shared_t
             Gemm C_local += A_shared_t @ B_shared, sub-blocks of 2 x 2 tiles

- The engine transposes its second operand inside tiles, never its first: a transposed first operand gets a pass
  through `transpose_tile`.
- DST takes a sub-block of the accumulator at a time. The largest one wins; among equals the squarest, because
  `matmul_block` unpacks 1 + 1/max(rows, cols) tiles per product.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir.buffers import Buffer, Memory
from tilelang_tt.ir.layout import BufferLayout, Role, Stream, TileOrder
from tilelang_tt.ir.section import SubBlock
from tilelang_tt.ir.tile import (
    Gemm,
    Launch,
    Stmt,
    TileProgram,
    Transpose,
    rewritten,
    unique_name,
)


def lower_tile_intrinsics(program: TileProgram) -> TileProgram:
    lowerings = [_Lowering(launch, program.options.dst_tiles) for launch in program.launches]
    launches = tuple(lowering.run() for lowering in lowerings)
    decisions = [decision for lowering in lowerings for decision in lowering.decisions]
    return replace(program, launches=launches).with_decisions(*decisions)


def choose_sub_block(rows: int, cols: int, capacity: int, one_column: bool = False) -> SubBlock:
    """The largest sub-block that divides the block; among equals the one with the fewest unpacks."""
    fitting = [
        SubBlock(r, c)
        for r in range(1, rows + 1)
        for c in range(1, cols + 1)
        if rows % r == 0 and cols % c == 0 and r * c <= capacity and (c == 1 or not one_column)
    ]
    return max(fitting, key=lambda s: (s.rows * s.cols, -abs(s.rows - s.cols), s.cols))


class _Lowering:
    def __init__(self, launch: Launch, capacity: int) -> None:
        self.launch = launch
        self.capacity = capacity
        self.layouts: dict[Buffer, BufferLayout] = dict(launch.layouts)
        self.streams: dict[Buffer, Stream] = dict(launch.streams)
        self.decisions: list[Decision] = []

    def run(self) -> Launch:
        body = rewritten(self.launch.body, self.gemm)
        return replace(self.launch, body=body, buffers=tuple(self.streams), layouts=self.layouts, streams=self.streams)

    def gemm(self, gemm: Stmt) -> list[Stmt] | None:
        if not isinstance(gemm, Gemm):
            return None
        before: list[Stmt] = []
        a = gemm.a
        if gemm.transpose_a:
            a = self.transposed(gemm)
            before.append(Transpose(gemm.a, a, gemm.location))
        block = self.layouts[gemm.c]
        # Tiles along N side by side are what matmul_block takes; any other order goes column by column.
        one_column = gemm.transpose_b and self.layouts[gemm.b].order is TileOrder.ROWS
        sub = choose_sub_block(block.rows, block.cols, self.capacity, one_column)
        text = f"{block.rows} x {block.cols} tiles by sub-blocks of {sub.rows} x {sub.cols}; DST holds {self.capacity}"
        self.decisions.append(Decision("lower_tile_intrinsics", gemm.c.name, text, gemm.location))
        return [*before, replace(gemm, a=a, transpose_a=False, sub_block=sub)]

    def transposed(self, gemm: Gemm) -> Buffer:
        source, layout = gemm.a, self.layouts[gemm.a]
        name = unique_name(f"{source.name}_t", self.launch.names | {block.name for block in self.layouts})
        block = Buffer(name, source.dtype, tuple(reversed(source.shape)), Memory.SHARED, gemm.location)
        self.layouts[block] = replace(layout, rows=layout.cols, cols=layout.rows, order=TileOrder.ROWS)
        self.streams[block] = Stream(Role.COMPUTE, Role.COMPUTE, 1)
        text = f"transposed copy of '{source.name}': the engine transposes only its second operand"
        self.decisions.append(Decision("lower_tile_intrinsics", block.name, text, gemm.location))
        return block
