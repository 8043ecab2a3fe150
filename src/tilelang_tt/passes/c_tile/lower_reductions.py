"""C: write reductions as products with ones, for the matrix engine.

    before   Reduce s = sum of X along j ; Reduce m = max of X along j ; Reduce t += sum of X along j, exact
    after    Gemm s = X @ ones ; Reduce m_lane = max of X along j ; Gemm m = m_lane @ ones
             Reduce t_part = sum of X along j, exact ; Map t = t + t_part

A sum is a product with a tile of ones, which leaves it in every lane of the result: a vector as the rest of the program
wants it. The engine leaves a maximum in the first lane and zeros in the others, so the sum of the lanes spreads it. The
tile of ones is made once per kernel. Exact reductions stay as they are: the vector unit does them, one after the other.
What the result held before is added afterwards.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.arch import TILE
from tilelang_tt.formats import TILE_BYTES
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Memory, unique_name
from tilelang_tt.ir.elements import Element
from tilelang_tt.ir.fields import rewritten
from tilelang_tt.ir.layout import ONES, BufferLayout, Constant, Mask
from tilelang_tt.ir.tile import Gemm, Launch, Map, Reduce, Stmt, TileProgram
from tilelang_tt.ops.expressions import apply


def lower_reductions(program: TileProgram) -> TileProgram:
    return replace(program, launches=tuple(_Lowering(launch).run() for launch in program.launches))


def constant_tile(
    launch: Launch, constant: Constant | Mask, name: str, format: str, dtype: str
) -> tuple[Launch, Buffer]:
    """The launch with a constant tile in it, or the tiles of a mask, and that block."""
    for buffer, kind in launch.constants.items():
        if kind == constant and buffer.dtype == dtype:
            return launch, buffer
    tiles = len(constant.tiles) if isinstance(constant, Mask) else 1
    buffer = Buffer(unique_name(name, launch.names), dtype, (tiles * TILE, TILE), Memory.SHARED, launch.location)
    layout = BufferLayout(tiles, 1, format, TILE_BYTES[format], constant=True)
    return (
        replace(
            launch,
            buffers=(*launch.buffers, buffer),
            layouts={**launch.layouts, buffer: layout},
            constants={**launch.constants, buffer: constant},
        ),
        buffer,
    )


class _Lowering:
    def __init__(self, launch: Launch) -> None:
        self.launch = launch

    def run(self) -> Launch:
        body = rewritten(self.launch.body, self.reduce)
        return replace(self.launch, body=body)

    def reduce(self, stmt: Stmt) -> list[Stmt] | None:
        if not isinstance(stmt, Reduce):
            return None
        if stmt.exact:
            return self.exact(stmt)
        if stmt.op == "sum":
            return [self.sum(stmt.src, stmt)]
        assert stmt.clear
        lane = self.lane(stmt)
        return [replace(stmt, dst=lane), self.sum(lane, stmt)]

    def exact(self, stmt: Reduce) -> list[Stmt]:
        if stmt.clear:
            return [stmt]
        name = unique_name(f"{stmt.dst.name}_part", self.launch.names)
        part = replace(stmt.dst, name=name, memory=Memory.SHARED)
        layouts = {**self.launch.layouts, part: self.launch.layouts[stmt.dst]}
        self.launch = replace(self.launch, buffers=(*self.launch.buffers, part), layouts=layouts)
        total = apply("add", Element(stmt.dst), Element(part))
        return [replace(stmt, dst=part, clear=True), Map(stmt.dst, total, stmt.location)]

    def sum(self, src: Buffer, stmt: Reduce) -> Gemm:
        self.launch, ones = constant_tile(self.launch, ONES, "ones", "Float16_b", "bfloat16")
        along_columns = self.launch.layouts[src].col_axis == stmt.axis
        a, b = (src, ones) if along_columns else (ones, src)
        clear = scalar.true() if stmt.clear else scalar.false()
        return Gemm(a, b, stmt.dst, False, False, clear, location=stmt.location)

    def lane(self, stmt: Reduce) -> Buffer:
        """A block of one tile along the axis that is reduced."""
        source, target = self.launch.layouts[stmt.src], self.launch.layouts[stmt.dst]
        shape = tuple(TILE if axis == stmt.axis else extent for axis, extent in enumerate(stmt.src.shape))
        name = unique_name(f"{stmt.dst.name}_lane", self.launch.names)
        block = Buffer(name, stmt.dst.dtype, shape, Memory.SHARED, stmt.location)
        along_columns = source.col_axis == stmt.axis
        layout = replace(
            target,
            rows=source.rows if along_columns else 1,
            cols=1 if along_columns else source.cols,
            row_axis=source.row_axis,
            col_axis=source.col_axis,
        )
        layouts = {**self.launch.layouts, block: layout}
        self.launch = replace(self.launch, buffers=(*self.launch.buffers, block), layouts=layouts)
        return block
