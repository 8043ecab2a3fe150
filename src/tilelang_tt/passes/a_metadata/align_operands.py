"""A: transpose operands that lie along the wrong axis.

    before   Map C = A[j, i] + b[i]        A by its own rows and columns, b laid along columns
    after    Transpose A -> A_t ; Transpose b -> b_t ; Map C = A_t + b_t[i]

Element-wise code works on tiles: what is computed together must run along the same side of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tilelang_tt.arch import TILE
from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import Location
from tilelang_tt.ir.buffers import Buffer, Memory, unique_name
from tilelang_tt.ir.elements import Element, ElementExpr, with_parts
from tilelang_tt.ir.fields import rewritten
from tilelang_tt.ir.layout import BufferLayout, TileOrder
from tilelang_tt.ir.tile import Launch, Map, Reduce, Stmt, TileProgram, Transpose
from tilelang_tt.passes.a_metadata.keep_last_bits import jumps


def align_operands(program: TileProgram) -> TileProgram:
    aligners = [_Aligner(launch, program.options.fp32_acc) for launch in program.launches]
    launches = tuple(aligner.run() for aligner in aligners)
    decisions = [decision for aligner in aligners for decision in aligner.decisions]
    return replace(program, launches=launches).with_decisions(*decisions)


class _Aligner:
    def __init__(self, launch: Launch, wide_dst: bool) -> None:
        self.launch = launch
        self.wide_dst = wide_dst
        self.layouts: dict[Buffer, BufferLayout] = dict(launch.layouts)
        self.decisions: list[Decision] = []
        self.found: dict[Buffer, Buffer] = {}  # transposed blocks of the statement

    def run(self) -> Launch:
        body = rewritten(self.launch.body, self.stmt)
        return replace(self.launch, body=body, buffers=tuple(self.layouts), layouts=self.layouts)

    def stmt(self, stmt: Stmt) -> Iterable[Stmt] | None:
        if isinstance(stmt, Map):
            before: list[Stmt] = []
            self.found = {}
            value = with_parts(stmt.value, lambda part: self.element(part, stmt, before))
            return [*before, replace(stmt, value=value)]
        return self.reduce(stmt) if isinstance(stmt, Reduce) else None

    def element(self, expr: ElementExpr, stmt: Map, before: list[Stmt]) -> ElementExpr | None:
        if not isinstance(expr, Element):
            return None
        source, target = self.layouts[expr.buffer], self.layouts[stmt.dst]
        walked, targets = expr.walked, stmt.axes
        sides = ((source.row_axis, target.row_axis), (source.col_axis, target.col_axis))
        towards = [(None if axis is None else walked[axis], side) for axis, side in sides]
        if all(to is None or targets[to] == side for to, side in towards):
            return expr
        if expr.origin is not None:
            part = self.part(expr, stmt)
            before.append(part)
            straight = [to for to in walked if to is not None]
            expr = Element(part.dst, tuple(straight) if len(straight) < 2 else (1, 0))
        turned = self.found.get(expr.buffer)
        if turned is None:
            turned = self.found[expr.buffer] = self.turned(expr.buffer, stmt.location)
            before.append(Transpose(expr.buffer, turned, stmt.location, self.shows(expr.buffer, stmt)))
        if len(turned.shape) < 2:
            return Element(turned, expr.axes)
        return Element(turned)

    def reduce(self, stmt: Reduce) -> list[Stmt]:
        """The result lies along the side that is kept of the source."""
        source, target = self.layouts[stmt.src], self.layouts[stmt.dst]
        along_rows = source.row_axis is not None and source.row_axis != stmt.axis
        if (target.row_axis is not None) == along_rows:
            return [stmt]
        part = self.turned(stmt.dst, stmt.location)
        before = [] if stmt.clear else [Transpose(stmt.dst, part, stmt.location, stmt.exact)]
        return [*before, replace(stmt, dst=part), Transpose(part, stmt.dst, stmt.location, stmt.exact)]

    def shows(self, buffer: Buffer, stmt: Map) -> bool:
        """Whether a result shows the last bits of a float32."""
        formats = self.layouts[buffer].format, self.layouts[stmt.dst].format
        return self.wide_dst and formats[0] == "Float32" and (formats[1] == "Float32" or jumps(stmt.value, buffer))

    def part(self, expr: Element, stmt: Map) -> Map:
        """A new block for the used part of another: outer axes stay at one place, tile axes are walked."""
        assert expr.origin is not None
        old = self.layouts[expr.buffer]
        kept = [axis for axis, to in enumerate(expr.walked) if to is not None]
        shape = tuple(stmt.shape[to] for to in expr.walked if to is not None)
        axes = tuple(kept.index(axis) if axis in kept else None for axis in range(len(expr.walked)))
        block = self.block(f"{expr.buffer.name}_part", expr.buffer, shape, stmt.location)
        row, col = (None if axis is None else axes[axis] for axis in (old.row_axis, old.col_axis))
        rows, cols = (1 if axis is None else -(-shape[axis] // TILE) for axis in (row, col))
        self.layouts[block] = replace(old, rows=rows, cols=cols, row_axis=row, col_axis=col, outer=())
        return Map(block, Element(expr.buffer, axes, expr.origin), stmt.location)

    def block(self, name: str, like: Buffer, shape: tuple[int, ...], location: Location | None) -> Buffer:
        name = unique_name(name, self.launch.names | {block.name for block in self.layouts})
        return Buffer(name, like.dtype, shape, Memory.SHARED, location)

    def turned(self, buffer: Buffer, location: Location | None) -> Buffer:
        """A block like `buffer` with rows and columns exchanged."""
        block = self.block(f"{buffer.name}_t", buffer, tuple(reversed(buffer.shape)), location)
        old = self.layouts[buffer]
        matrix = old.row_axis is not None and old.col_axis is not None
        self.layouts[block] = replace(
            old,
            rows=old.cols,
            cols=old.rows,
            order=TileOrder.ROWS,
            row_axis=0 if matrix else old.col_axis,
            col_axis=1 if matrix else old.row_axis,
        )
        text = f"'{buffer.name}' transposed: it is used along the other side of its tiles"
        self.decisions.append(Decision("align_operands", block.name, text, location))
        return block
