"""Statements on whole blocks rewritten for one part of each: the bodies of the loops that `split_blocks` makes.

Map q = x * x              Map q = x[i, 64 c + j] * x[i, 64 c + j]        q is as large as a part, x stays whole
Map x = x * 2              Map x_part = x[i, 64 c + j] * 2 ; Map x[:, 64 c : 64] = x_part
Reduce s = sum of q        before the loop: Fill s = 0 ; Reduce s += sum of q
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

from tilelang_tt.arch import TILE
from tilelang_tt.diagnostics import Location
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Part, TileAccess, unique_name
from tilelang_tt.ir.elements import Element, ElementExpr, Index, value_type, with_parts
from tilelang_tt.ir.layout import BufferLayout
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Fill, Launch, Load, Map, Reduce, Stmt, Store, reads
from tilelang_tt.ops.expressions import apply, numeral

_NEUTRAL = {"sum": 0.0, "max": -math.inf}


class Side(Enum):
    """Which axis of blocks is cut."""

    ROWS = "rows"
    COLUMNS = "columns"

    def axis(self, layout: BufferLayout) -> int | None:
        return layout.row_axis if self is Side.ROWS else layout.col_axis


@dataclass
class Cut:
    """Blocks of one length along a side, the length of a part in tiles, and the launch, which gets new blocks."""

    launch: Launch
    side: Side
    tiles: int
    members: set[Buffer]

    def axis(self, buffer: Buffer) -> int:
        axis = self.side.axis(self.launch.layouts[buffer])
        assert axis is not None
        return axis

    def shape(self, buffer: Buffer) -> tuple[int, ...]:
        """Of a part of a block."""
        axis = self.axis(buffer)
        return tuple(self.tiles * TILE if k == axis else extent for k, extent in enumerate(buffer.shape))

    def part(self, buffer: Buffer, name: str) -> Buffer:
        """A new block for one part of another one."""
        layout = self.launch.layouts[buffer]
        layout = replace(layout, rows=self.tiles) if self.side is Side.ROWS else replace(layout, cols=self.tiles)
        return self.block(replace(buffer, shape=self.shape(buffer)), name, layout)

    def block(self, like: Buffer, name: str, layout: BufferLayout) -> Buffer:
        block = replace(like, name=unique_name(name, self.launch.names - {like.name}))
        self.launch = replace(self.launch, layouts={**self.launch.layouts, block: layout})
        return block


@dataclass
class PartWriter:
    """Writes statements for part `var`, and what comes before the loop."""

    cut: Cut
    short: list[Buffer]  # blocks that are as large as a part from now on
    kept: set[Buffer]  # blocks that are needed after the loop
    filled: set[Buffer]  # whole blocks that hold something before the loop
    var: Var = field(default_factory=lambda: scalar.var("part"))
    before: list[Stmt] = field(default_factory=list)
    here: dict[Buffer, Buffer] = field(default_factory=dict)  # block -> the one that holds this part of it

    def __post_init__(self) -> None:
        self.here = {block: self.cut.part(block, block.name) for block in self.short}

    def body(self, stmts: list[Stmt]) -> Iterator[Stmt]:
        for index, stmt in enumerate(stmts):
            match stmt:
                case Load():
                    yield replace(stmt, src=self.access(stmt.src), dst=self.here[stmt.dst])
                case Store():
                    yield replace(stmt, src=self.here[stmt.src], dst=self.access(stmt.dst))
                case Fill():
                    yield from self.map(
                        Map(stmt.dst, numeral(stmt.value, value_type(stmt.dst.dtype)), stmt.location),
                        stmts[index + 1 :],
                    )
                case Map():
                    yield from self.map(stmt, stmts[index + 1 :])
                case Reduce():
                    yield from self.reduce(stmt)

    def map(self, stmt: Map, later: list[Stmt]) -> Iterator[Stmt]:
        value = with_parts(stmt.value, lambda part: self.here_of(part, stmt.dst))
        if stmt.dst in self.short:
            yield replace(stmt, dst=self.here[stmt.dst], value=value)
            return
        if any(stmt.dst in reads(one) for one in (stmt, *later)):
            # Computed beside the block: what is read of it is its old contents.
            block = self.here[stmt.dst] = self.cut.part(stmt.dst, f"{stmt.dst.name}_part")
            yield replace(stmt, dst=block, value=value)
            value = Element(block)
        yield from self.put(stmt.dst, value, stmt.location)

    def reduce(self, stmt: Reduce) -> Iterator[Stmt]:
        if stmt.src not in self.here:
            block = self.cut.part(stmt.src, f"{stmt.src.name}_part")
            yield Map(block, Element(stmt.src, origin=self.origin(stmt.src)), stmt.location)
            self.here[stmt.src] = block
        across = stmt.dst in self.cut.members
        stmt = replace(stmt, src=self.here[stmt.src])
        yield from self.reduce_across(stmt) if across else self.reduce_along(stmt)

    def reduce_across(self, stmt: Reduce) -> Iterator[Stmt]:
        """Along another axis: a part of the operand gives that part of the result."""
        if stmt.dst not in self.here:
            self.here[stmt.dst] = block = self.cut.part(stmt.dst, f"{stmt.dst.name}_part")
            if not stmt.clear:
                yield Map(block, Element(stmt.dst, origin=self.origin(stmt.dst)), stmt.location)
        yield replace(stmt, dst=self.here[stmt.dst])
        if stmt.dst not in self.short:
            yield from self.put(stmt.dst, Element(self.here[stmt.dst]), stmt.location)

    def reduce_along(self, stmt: Reduce) -> Iterator[Stmt]:
        """Along the axis that is cut: the result of each part is combined with those before it."""
        if stmt.clear:
            self.before.append(Fill(stmt.dst, _NEUTRAL[stmt.op], stmt.location))
        if stmt.op == "sum":
            yield replace(stmt, clear=False)
            return
        result = self.cut.block(stmt.dst, f"{stmt.dst.name}_part", self.cut.launch.layouts[stmt.dst])
        yield replace(stmt, dst=result, clear=True)
        yield Map(stmt.dst, apply("max", Element(stmt.dst), Element(result)), stmt.location)

    def put(self, block: Buffer, value: ElementExpr, location: Location | None) -> Iterator[Stmt]:
        """This part of a whole block = value. A block that held nothing before starts as zeros."""
        if block not in self.kept:
            return
        if block not in self.filled:
            self.filled.add(block)
            self.before.append(Fill(block, 0.0, location))
        yield Map(block, value, location, Part(self.origin(block), self.cut.shape(block)))

    def origin(self, buffer: Buffer) -> tuple[Expr, ...]:
        """Where this part of a block begins, in elements."""
        start = scalar.as_expr(self.var * (self.cut.tiles * TILE))
        return tuple(start if k == self.cut.axis(buffer) else scalar.const(0) for k in range(len(buffer.shape)))

    def here_of(self, expr: ElementExpr, target: Buffer) -> ElementExpr | None:
        """A position, or an element of a block that is cut, in terms of this part."""
        if isinstance(expr, Index):
            step = expr.factors[self.cut.axis(target)] * self.cut.tiles * TILE
            return replace(expr, base=scalar.as_expr(expr.base + step * self.var))
        if not isinstance(expr, Element) or expr.buffer not in self.cut.members:
            return None
        if expr.buffer in self.here:
            return replace(expr, buffer=self.here[expr.buffer])
        return replace(expr, origin=self.origin(expr.buffer))

    def access(self, access: TileAccess) -> TileAccess:
        tiles = self.cut.tiles
        if self.cut.side is Side.ROWS:
            row, height = scalar.as_expr(access.row + self.var * tiles), access.height and tiles * TILE
            return replace(access, row=row, rows=tiles, height=height)
        col, width = scalar.as_expr(access.col + self.var * tiles), access.width and tiles * TILE
        return replace(access, col=col, cols=tiles, width=width)
