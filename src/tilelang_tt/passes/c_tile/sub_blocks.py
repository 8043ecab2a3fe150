"""Fit a product to the matrix engine: a rule of `fit_products`.

    before   Gemm C_local += A_shared^T @ B_shared             C_local 4 x 4 tiles, DST holds 4
    after    Transpose A_shared -> A_shared_t
             Gemm C_local += A_shared_t @ B_shared, sub-blocks of 2 x 2 tiles

- The engine transposes its second operand inside tiles, never its first: a transposed first operand gets a pass
  through `transpose_tile`.
- DST takes a sub-block of the accumulator at a time. The largest one wins; among equals the squarest, because
  `matmul_block` unpacks 1 + 1/max(rows, cols) tiles per product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilelang_tt.ir.buffers import Buffer, Memory
from tilelang_tt.ir.dataflow import Place
from tilelang_tt.ir.layout import BufferLayout, TileOrder
from tilelang_tt.ir.section import SubBlock
from tilelang_tt.ir.tile import Gemm, Stmt, Transpose
from tilelang_tt.passes.c_tile.rules import Setting


def sub_blocks(place: Place, setting: Setting) -> tuple[Stmt, ...] | None:
    gemm = place.stmt
    if not isinstance(gemm, Gemm) or gemm.sub_block is not None:
        return None
    before: tuple[Stmt, ...] = ()
    if gemm.transpose_a:
        block = _transposed(gemm, setting)
        before = (Transpose(gemm.a, block, gemm.location),)
        gemm = replace(gemm, a=block, transpose_a=False)
    layout, capacity = setting.layouts[gemm.c], setting.capacity
    sub = largest(dividing(layout, capacity, one_column=by_columns(gemm, setting.layouts)))
    text = f"{layout.rows} x {layout.cols} tiles by sub-blocks of {sub.rows} x {sub.cols}; DST holds {capacity}"
    setting.decide(gemm.c, text, gemm.location)
    return place.replaced(*before, replace(gemm, sub_block=sub))


def by_columns(gemm: Gemm, layouts: Mapping[Buffer, BufferLayout]) -> bool:
    """Whether sub-blocks are one tile wide: `matmul_block` takes tiles along N that lie side by side."""
    return gemm.transpose_b and layouts[gemm.b].order is TileOrder.ROWS


def dividing(block: BufferLayout, capacity: int, *, one_column: bool) -> list[SubBlock]:
    """Sub-blocks of at most so many tiles that make up a block."""
    return [
        SubBlock(rows, cols)
        for rows in range(1, block.rows + 1)
        for cols in range(1, (1 if one_column else block.cols) + 1)
        if block.rows % rows == 0 and block.cols % cols == 0 and rows * cols <= capacity
    ]


def largest(fitting: list[SubBlock]) -> SubBlock:
    """Among equals the one with the fewest unpacks."""
    return max(fitting, key=lambda sub: (sub.tiles, -abs(sub.rows - sub.cols), sub.cols))


def _transposed(gemm: Gemm, setting: Setting) -> Buffer:
    source, layout = gemm.a, setting.layouts[gemm.a]
    like = Buffer(source.name, source.dtype, tuple(reversed(source.shape)), Memory.SHARED, gemm.location)
    layout = replace(layout, rows=layout.cols, cols=layout.rows, order=TileOrder.ROWS)
    block = setting.block(f"{source.name}_t", like, layout)
    text = f"transposed copy of '{source.name}': the engine transposes only its second operand"
    setting.decide(block, text, gemm.location)
    return block
