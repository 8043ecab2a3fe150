"""Give every on-chip buffer its shape in tiles, its format and its tile order: part of `infer_layout`.

    before   B_shared : bfloat16[128, 64], read by T.gemm(..., transpose_B=True)
    after    B_shared : 4 x 2 tiles, Float16_b, tiles by columns

`matmul_block` wants the tiles along N of its second operand side by side. A block that is only ever read as
a transposed second operand and filled from DRAM is therefore stored by tile columns: the reader places it
so at no cost, and the matrix engine transposes inside each tile.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.arch import TILE
from tilelang_tt.compiled import Decision
from tilelang_tt.formats import TILE_BYTES, format_of
from tilelang_tt.ir.buffers import Buffer, Tensor
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import BufferLayout, TileOrder
from tilelang_tt.ir.tile import Copy, Gemm, Launch, TileProgram, reads, writes
from tilelang_tt.passes.a_metadata.orient import Side, Sides


def buffer_layouts(program: TileProgram, sides: Sides) -> TileProgram:
    decisions: list[Decision] = []
    launches = []
    for launch in program.launches:
        layouts = {buffer: _layout(program, launch, buffer, sides) for buffer in launch.buffers}
        launches.append(replace(launch, layouts=layouts))
        decisions += [
            Decision("infer_layout", buffer.name, _describe(layout), buffer.location)
            for buffer, layout in layouts.items()
        ]
    return replace(program, launches=tuple(launches)).with_decisions(*decisions)


def buffer_layout(buffer: Buffer, format: str, sides: Sides, order: TileOrder = TileOrder.ROWS) -> BufferLayout:
    """Tiles of a buffer, the last ones padded."""
    shape = buffer.shape
    axis_of = {sides[buffer, axis]: axis for axis in range(len(shape)) if (buffer, axis) in sides}
    row, col = axis_of.get(Side.ROW), axis_of.get(Side.COL)
    rows, cols = (1 if axis is None else -(-shape[axis] // TILE) for axis in (row, col))
    return BufferLayout(rows, cols, format, TILE_BYTES[format], order, row, col, shape[:-2])


def _layout(program: TileProgram, launch: Launch, buffer: Buffer, sides: Sides) -> BufferLayout:
    natural = format_of(buffer.dtype, program.options.float16)
    order = TileOrder.COLUMNS if _only_transposed_operand(launch, buffer) else TileOrder.ROWS
    return buffer_layout(buffer, _loaded_format(program, launch, buffer) or natural, sides, order)


def _loaded_format(program: TileProgram, launch: Launch, buffer: Buffer) -> str | None:
    """The format of the tensors a buffer is filled from, if it can keep it: same element type, one format."""
    formats = set()
    for stmt in walk(launch.body):
        if buffer in writes(stmt):
            if not isinstance(stmt, Copy) or not isinstance(stmt.src.source, Tensor):
                return None
            if stmt.src.source.dtype != buffer.dtype:
                return None
            formats.add(program.layouts[stmt.src.source].format)
    return formats.pop() if len(formats) == 1 else None


def _only_transposed_operand(launch: Launch, buffer: Buffer) -> bool:
    used = False
    for stmt in walk(launch.body):
        if buffer in writes(stmt) and not (isinstance(stmt, Copy) and isinstance(stmt.src.source, Tensor)):
            return False
        if buffer in reads(stmt):
            used = True
            if not (isinstance(stmt, Gemm) and stmt.b is buffer and stmt.a is not buffer and stmt.transpose_b):
                return False
    return used


def _describe(layout: BufferLayout) -> str:
    order = ", tiles by columns (transposed operand)" if layout.order is TileOrder.COLUMNS else ""
    return f"{layout.rows} x {layout.cols} tiles, {layout.format}{order}"
